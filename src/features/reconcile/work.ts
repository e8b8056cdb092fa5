/* What `reconcile` does with each cursor. */

import { withSharedLook } from '../../engine/run/askshared.js'
import type { Begin } from '../../engine/run/cursor.js'
import { deletionLimit } from '../../engine/run/deletionguard.js'
import { walkOf } from '../../engine/run/listwalk.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import { Reconciliation } from './reconciliation.js'

/** Walks what is new, compares, and repairs differences. */
export function beginReconcile({
  full = false,
  acceptDeletes = false,
}: Pick<RunRequest, 'full' | 'acceptDeletes'>): Begin {
  return (cursor, isNews) => {
    const isNames = cursor.resource.resource.list === 'strings'
    const work = isNames
      ? new NamesSync(cursor)
      : isNews
        ? walkOf(cursor, 'news')
        : new Reconciliation(cursor, { full, ...deletionLimit(cursor.run, acceptDeletes) })
    return withSharedLook(cursor, work, { isWhole: true, followsBack: true, acceptDeletes })
  }
}
