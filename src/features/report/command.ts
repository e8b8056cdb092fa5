import type { Command, Feature } from '../../shell/command.js'

const reportCommand: Command = {
  name: 'report',
  summary: 'one page that answers: can I trust the data, how was last month, what needs me today',
  help: `
Writes a self-contained HTML page: it loads nothing from elsewhere, so that it can be mailed or kept. Below the three
answers stand charts of sales, work and customers, each with its definition, what it leaves out, and its numbers.
Reads the warehouse only, and does not ask the API. With several tenants the page compares them; up to six can be
chosen on it.`,
  examples: [
    ['shopsync report', 'report.html in this folder'],
    ['shopsync report --out /var/www/report.html', 'where a web server finds it'],
    ['shopsync report --tenant 101 --out main-street.html', 'of one tenant'],
  ],
  options: [
    { flags: '--out <file>', description: 'where the page goes (default: report.html)' },
    { flags: '--tenant <id>', description: 'only this tenant; may be repeated', repeatable: true },
  ],
  run: async (invocation) => {
    const [{ withContext }, { checkPlace, writeReport }, { reportText }, { shown }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./words.js'),
      import('../../shell/progress.js'),
    ])
    const file = String(invocation.options.out ?? 'report.html')
    checkPlace(file, invocation.io)
    return withContext(invocation, async (context) => {
      await context.refuseForgotten()
      const written = await shown(context, { what: 'asking the warehouse, and drawing the page' }, () =>
        writeReport(context, file, context.choice.tenants),
      )
      await invocation.out.answer(written.document, reportText(written, invocation.out.terminal))
      return 0
    })
  },
}

export const report: Feature = {
  command: reportCommand,
  step: async () => (await import('./step.js')).reportAsStep,
}
