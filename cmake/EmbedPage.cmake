# SPDX-License-Identifier: Apache-2.0
# cmake -DPAGE=viewer.html -DOUT=page.cpp -P EmbedPage.cmake: a file => its bytes as C++.
# The page is a few hundred kilobytes, and only this file is compiled again when it changes.
file(READ ${PAGE} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "namespace orthant::io {
extern const unsigned char kViewerPage[];
extern const unsigned long kViewerPageSize;
const unsigned char kViewerPage[] = {${bytes}};
const unsigned long kViewerPageSize = sizeof kViewerPage;
}  // namespace orthant::io
")
