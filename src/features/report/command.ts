import { type Command, type Feature, tenantOption } from '../../shell/command.js'

const reportCommand: Command = {
  name: 'report',
  group: 'Watch it',
  summary:
    'one page that answers: how was yesterday, what needs attention today, how was last month, can I trust the data',
  help: `
Writes a self-contained HTML page for the owner of the shops, to mail or keep (docs/analytics.md has what it shows). Reads
only the warehouse. --operations writes the operator's page instead: incidents, freshness, runs, the rate limit, events,
quarantine and drift.`,
  examples: [
    ['shopsync report', 'report.html in this folder'],
    ['shopsync report --out /var/www/report.html', 'where a web server finds it'],
    ['shopsync report --tenant 101 --out main-street.html', 'of one tenant'],
  ],
  options: [
    { flags: '--out <file>', description: 'where the page goes (default: report.html, or operations.html)' },
    { flags: '--operations', description: "write the operator's page" },
    tenantOption,
  ],
  readsAnyEncoding: true,
  run: async (invocation) => {
    const [{ withContext }, { checkPlace, pageAt, writeOperations, writeReport }, words, { shown }] =
      await Promise.all([
        import('../../shell/commandcontext.js'),
        import('./work.js'),
        import('./words.js'),
        import('../../shell/progress.js'),
      ])
    const { options, out, io } = invocation
    const isOperations = options.operations === true
    const file = String(options.out ?? (isOperations ? 'operations.html' : 'report.html'))
    const page = pageAt(io.workingDirectory, file)
    checkPlace(page)
    return withContext(invocation, async (context) => {
      await context.refuseForgotten()
      const { tenants } = context.choice
      const making = { what: 'asking the warehouse, and drawing the page' }
      if (isOperations) {
        const written = await shown(context, making, () => writeOperations(context, page, tenants))
        await out.answer(written.document, words.operationsText(written))
        return 0
      }
      const written = await shown(context, making, () => writeReport(context, page, tenants))
      await out.answer(written.document, words.reportText(written, out.terminal))
      return 0
    })
  },
}

export const report: Feature = {
  command: reportCommand,
  step: async () => (await import('./step.js')).reportAsStep,
}
