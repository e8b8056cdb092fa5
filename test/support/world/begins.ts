/** How the work on a cursor starts, depending on the run: as in the commands and job steps. */
import type { Begin } from '../../../src/engine/run/cursor.js'
import type { RunRequest } from '../../../src/engine/run/runreport.js'
import { beginBackfill } from '../../../src/features/backfill/work.js'
import { beginReconcile } from '../../../src/features/reconcile/work.js'
import { beginSync } from '../../../src/features/sync/work.js'

export function beginOf(request: RunRequest): Begin {
  if (request.mode === 'reconcile') return beginReconcile(request)
  return request.mode === 'backfill' ? beginBackfill(request) : beginSync(request)
}

/** The request with it. */
export const begun = (request: RunRequest): RunRequest & { readonly begin: Begin } => ({
  ...request,
  begin: beginOf(request),
})
