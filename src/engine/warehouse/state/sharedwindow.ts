/*
 * sync_rate: the row by which processes share a rate-limit window (docs/scale.md, One rate window). The throttle takes
 * from it (src/engine/source/rate).
 */
import { type CompiledQuery, sql } from 'kysely'
import { Bug } from '../../base/errors.js'
import type { SharedWindow, WindowClaim, WindowRow } from '../../base/windowclaim.js'
import type { Db } from '../database.js'
import type { Warehouse } from '../warehouse.js'

/**
 * Takes requests of a window, if all have then taken at most `claim.most`. Otherwise it changes nothing and returns no
 * row. A row of a later window is taken from as it is: what we know of our own window says nothing about that one.
 */
function takeSql(db: Db, claim: WindowClaim): CompiledQuery<{ resets_at: number; taken: number }> {
  const { rule, limit, count, most, resetsAt, isSaid, from, to, was, used, owed } = claim
  const row = {
    resets_at: sql<number>`sync_rate.resets_at`,
    taken: sql<number>`sync_rate.taken + ${owed}`,
  }
  const isCurrent = sql<boolean>`(${row.resets_at} >= ${from} or ${row.resets_at} = ${was})`
  const before = sql<number>`case when not ${isCurrent} then ${used} when ${row.resets_at} > ${to} or ${row.taken} > ${used} then ${row.taken} else ${used} end`
  return db
    .insertInto('sync_rate')
    .values({ rule, resets_at: resetsAt, limit, taken: used + count })
    .onConflict((c) =>
      c
        .column('rule')
        .doUpdateSet({
          // A smaller one is never written: a process that wakes up in an old window must not bring it back. Nor is one
          // that nobody has said, in place of another of those: by it, others know what they have already taken.
          resets_at: sql`case when ${isCurrent} and (${sql.lit(!isSaid)} or ${row.resets_at} > ${resetsAt}) then ${row.resets_at} else ${resetsAt} end`,
          limit,
          taken: sql`${before} + ${count}`,
        })
        .where(sql<boolean>`${before} + ${count} <= ${most}`),
    )
    .returning(['resets_at', 'taken'])
    .$castTo<{ resets_at: number; taken: number }>()
    .compile()
}

async function take(db: Db, claim: WindowClaim): Promise<WindowRow> {
  const ask = async (asked: WindowClaim): Promise<WindowRow | undefined> => {
    const [row] = (await db.executeQuery(takeSql(db, asked))).rows
    return row && { resetsAt: Number(row.resets_at), taken: Number(row.taken), granted: asked.count }
  }
  const { used, count, most } = claim
  const whole = used + count <= most ? await ask(claim) : undefined
  if (whole) return whole
  // What the others have to know of a refused process: what it owes, and what the server has counted.
  const row = await ask({ ...claim, count: 0, most: Number.MAX_SAFE_INTEGER })
  if (!row) throw new Bug('A claim to nothing was refused')
  const left = Math.min(count, most - row.taken)
  return (left > 0 ? await ask({ ...claim, count: left, owed: 0 }) : undefined) ?? row
}

/**
 * The row in this warehouse. It is written beside the rows of a run, by statements of their own that nobody's commit
 * waits for, and nothing is repeated while the database is away: the throttle goes on without it.
 */
export function sharedWindow(warehouse: Warehouse): SharedWindow {
  const { db } = warehouse
  return {
    take: (claim) => take(db, claim),
    find: async (rule) => {
      // A command that only reads may meet a warehouse of an older program, or none.
      if (!(await warehouse.isThere('sync_rate'))) return undefined
      const rows = db.selectFrom('sync_rate').select('resets_at').where('rule', '=', rule)
      const row = await rows.executeTakeFirst()
      return row ? Number(row.resets_at) : undefined
    },
  }
}
