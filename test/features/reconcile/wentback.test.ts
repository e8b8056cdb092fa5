/** The stories of wentback.txt. */
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at, timeOf } from '../../support/world/notes.js'
import type { OneList } from '../../support/world/onelist.js'
import { idsOf } from '../../support/world/stories.js'

const sandbox = await sandboxOfFile()
let backup: ReturnType<OneList['collection']['backup']>
/** When the watched record was asked for by id, in seconds. */
let asked: number[] = []

const older = (list: OneList, id: number): void => list.put(id, timeOf(id))
const newer = (list: OneList, id: number): void => list.put(id, timeOf(id + 500), { description: 'newer' })

const words: Words = {
  backup: ({ list }) => {
    backup = list.collection.backup()
  },
  restore: ({ list }) => list.collection.restore(backup),
  'newer IDS': ({ list }, ids) => {
    for (const id of idsOf(ids!)) newer(list, id)
  },
  'older N': ({ list }, id) => older(list, Number(id)),
  // Records are edited and then revert, while none is missing and no count differs.
  'edited IDS': ({ list }, ids) => {
    for (const id of idsOf(ids!)) list.put(id, at(7 * id + 2), { description: 'edited' })
  },
  'as it was IDS': ({ list }, ids) => {
    for (const id of idsOf(ids!)) list.put(id, timeOf(id), { description: 'as it was' })
  },
  'overlap N': (story, overlapMs) => {
    story.options = { overlapMs: Number(overlapMs) }
  },
  'watch N': ({ list }, watched) => {
    asked = []
    sandbox.onRequest(({ id }) => {
      if (id === Number(watched)) asked.push(Math.floor(Number(list.clock.nowMicros()) / 1e6))
    })
  },
  'asked by id': () =>
    `seconds between: ${asked
      .slice(1)
      .map((at, i) => at - asked[i]!)
      .join(' ')}`,
  'the list lags behind N': ({ list }, id) => {
    sandbox.onRequest((request) => (request.id === null ? older : newer)(list, Number(id)))
  },
}

stories('test/features/reconcile/wentback.txt', sandbox, {}, words)
