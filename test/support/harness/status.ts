import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import {
  readStatus,
  type StatusOptions,
  type StatusReport,
} from '../../../src/features/health/statusdocument.js'
import { statusText } from '../../../src/features/health/words.js'
import type { Sandbox } from '../../../src/sandbox/index.js'

export { statusText }

const day = 86_400_000

/** The status of the notes in a sandbox's warehouse, with the usual limits. */
export const statusOf = (
  sandbox: Pick<Sandbox, 'url' | 'partnerId'>,
  warehouse: Writer,
  options: Pick<StatusOptions, 'nowMicros'> & Partial<StatusOptions>,
): Promise<StatusReport> =>
  readStatus({
    warehouse,
    label: '',
    source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId },
    resources: ['notes'],
    tenants: null,
    exceptTenants: [],
    shards: 0,
    staleAfterMs: day,
    deletesUncheckedAfterMs: 3 * day,
    ...options,
  })

/** The lines in which `status` points to something. */
export const statusLines = (report: StatusReport): string[] =>
  statusText(report)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('! '))
