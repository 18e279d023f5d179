"""What follows from a design: lint, infrastructure, policies, documents, cost. From the model alone, no store needed.

loading     load: the designs of a module, by import path or file
lint        lint: what is wrong with a design, with the place and the repair
samples     sample: entities made from their declaration
infrastructure, cloudformation, terraform, aws_cli, boto3_script
            what makes a design's tables in an account, and the same in four languages
iam, policy_evaluation
            the least policy of each role; whether a policy allows a request
snapshot, diff
            a design as JSON; what changes between two versions, and what it takes
workbench   NoSQL Workbench: a design as its data model, and back
sizes, capacity, demand, cost, forecast, cost_report
            units of each pattern and write; what traffic asks for, what it costs, what gets too hot; the page of it
prices      dated price lists
meter_report
            what a metered run consumed, and its bill
documents, shapes, diagrams, drawings
            the design document, with its diagrams as mermaid and as SVG
pages, html, charts, figures
            what pages are made of: Markdown, HTML, bars, numbers
projects    the files of a new project
"""
