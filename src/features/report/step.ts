/* The step `report` of a job: writes the page, and doesn't query the source. */
import { z } from 'zod'
import { textLeaf } from '../../engine/config/leaf.js'
import { now } from '../../engine/run/tenant.js'
import { chooseFrom } from '../../shell/chosenbyflags.js'
import type { StepKind, StepSettings } from '../../shell/command.js'

export const reportAsStep: StepKind = {
  command: 'report',
  does: 'write the page of shopsync report.',
  isWhole: true,
  settings: {
    out: {
      shape: textLeaf('a file such as "report.html"')
        .optional()
        .meta({
          description:
            "report: the file, relative to the configuration's folder; report.html by default, operations.html for the operator's page.",
          examples: ['report.html'],
        }),
      elsewhere: 'none: only report writes a file',
      after: 'last',
    },
    operations: {
      shape: z
        .boolean({ error: 'true or false' })
        .optional()
        .meta({ description: "report: write the operator's page." }),
      elsewhere: "none: only report has an operator's page",
      after: 'out',
    },
  },
  misfit: ({ full, resources }) => {
    if (full) return ['full', 'none: a report is always whole']
    return resources === 'all' ? undefined : ['resources', 'none: a report is of all that its tenants have']
  },
  prepare: async (
    context,
    {
      job,
      out: named,
      operations = false,
      ...step
    }: (StepSettings & { readonly out?: string; readonly operations?: boolean }) & { readonly job: string },
    tell,
  ) => {
    const { tenants } = chooseFrom(context.config, step)
    const [{ checkPlace, pageAt, writeOperations, writeReport }, words, { remembered }, { reportOfNothing }] =
      await Promise.all([
        import('./work.js'),
        import('./words.js'),
        import('../../engine/warehouse/state/failedworks.js'),
        import('../../shell/execute.js'),
      ])
    const page = pageAt(context.config.folder, named ?? (operations ? 'operations.html' : 'report.html'))
    checkPlace(page)
    return {
      asksSource: false,
      carryOut: async ({ runId, warehouse, asked: signal }) => {
        const started = now(context)
        const trying = { what: 'report', warehouse, now: started, signal } as const
        const text = await remembered(trying, async () =>
          operations
            ? words.operationsText(await writeOperations(context, page, tenants))
            : words.reportText(await writeReport(context, page, tenants)),
        )
        const report = reportOfNothing({
          run_id: runId,
          job,
          mode: 'report',
          started_at: started,
          finished_at: now(context),
        })
        tell(report, `${text}\n`)
        return report
      },
    }
  },
}
