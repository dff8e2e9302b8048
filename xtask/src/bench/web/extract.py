# Reads the HTML at each path of its stdin, and answers with its Markdown as a line of JSON.
import json
import sys

if sys.argv[1] == "trafilatura":
    import trafilatura

    def markdown(html):
        return trafilatura.extract(html, output_format="markdown", include_links=True)
else:
    from html_to_markdown import convert

    def markdown(html):
        return convert(html).content


for line in sys.stdin:
    with open(line.strip(), encoding="utf-8") as page:
        print(json.dumps(markdown(page.read())), flush=True)
