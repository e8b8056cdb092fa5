import type { Command } from '../command.js'

export const dictionaryCommand: Command = {
  name: 'dictionary',
  summary: 'the data dictionary: every table and column, and what it means',
  help: `
Examples:
  shopsync dictionary > dictionary.md
  shopsync dictionary --format html > dictionary.html

Needs no configuration; with one, it shows the columns that resources.NAME.columns adds.`,
  options: [
    {
      flags: '--format <format>',
      description: 'md (default), json or html',
      choices: ['md', 'json', 'html'],
    },
  ],
  run: async ({ globals, options, out }) => {
    const [dictionaries, { model }, { resources }, { resourceSettings }] = await Promise.all([
      import('../../model/dictionary.js'),
      import('../../model/registry.js'),
      import('../../../schema/index.js'),
      import('../configuration.js'),
    ])
    const { list } = model(resources, resourceSettings(globals))
    const content = dictionaries.describeModel(list.map((entry) => entry.resource))
    if (out.json || options.format === 'json') await out.document(content)
    else if (options.format === 'html') {
      const { toHtml } = await import('../../model/dictionarypage.js')
      out.result(toHtml(content))
    } else out.result(dictionaries.toMarkdown(content))
    return 0
  },
}
