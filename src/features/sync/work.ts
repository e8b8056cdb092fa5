/* What `sync` does with each cursor. */
import type { Begin } from '../../engine/run/cursor.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import { withSharedLook } from '../reconcile/askshared.js'
import { walkOf } from '../reconcile/work.js'

/** Walks what is new, or everything again. */
export function beginSync({ mode }: Pick<RunRequest, 'mode'>): Begin {
  const asked = mode === 'full' ? 'full' : 'sync'
  return (cursor, isNews) => {
    const isNames = cursor.resource.resource.list === 'strings'
    const work = isNames ? new NamesSync(cursor) : walkOf(cursor, isNews ? 'news' : asked)
    return withSharedLook(cursor, work, { isWhole: asked === 'full' })
  }
}
