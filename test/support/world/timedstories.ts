/** Stories of a list whose source has the program's clock (timedlist.ts): with what is late, ahead, or told by a wrong clock. */
import { latenessOf, type RunOptions } from '../harness/runs.js'
import { sandboxOfFile } from '../harness/sandbox.js'
import { statusLines } from '../harness/status.js'
import { readLateness } from '../harness/warehouse.js'
import { Between } from './between.js'
import { HandClock } from './clocks.js'
import { idsOf, plain, type Words } from './liststory.js'
import { stories } from './listwords.js'
import { begin, dateless, later, TimedList } from './timedlist.js'

/** Each page takes ten seconds. */
const slowly =
  (clock: HandClock): RunOptions['around'] =>
  (source) =>
    new Between(source, (_, ask) => {
      clock.pass(10_000)
      return ask()
    })

/** Times are seconds after the list's beginning. */
const timed = (clock: HandClock): Words => ({
  'put IDS later WORD': ({ list }, ids, seconds) => {
    for (const id of idsOf(ids!)) list.put(id, later(Number(seconds)))
  },
  'our clock is off by WORD': (_, seconds) => {
    clock.skew = BigInt(seconds!) * 1_000_000n
  },
  "the source's is off by WORD": ({ list }, seconds) =>
    list.sandbox.script([{ fault: { kind: 'skew', seconds: Number(seconds) } }]),
  'the source tells no time': (story) => {
    story.options = { around: dateless }
  },
  'each page takes ten seconds': (story) => {
    story.options = { around: slowly(clock)! }
  },
  'all as usual': (story) => {
    story.options = {}
  },
  status: async ({ list }) => statusLines(await (list as TimedList).status()).join(' ') || 'nothing odd',
  'status of WORD': async ({ list }, part) => {
    const { cursors, ...report } = await (list as TimedList).status()
    return plain({ ...report, ...cursors[0] }[part as 'lateness'])
  },
  'lateness[ N days later]': async ({ list }, days = '0') => {
    const rows = await readLateness(list.warehouse, later(Number(days) * 86_400))
    return plain(latenessOf(rows).get('notes') ?? 'none')
  },
})

export async function timedStories(file: string, settings: RunOptions, words: (clock: HandClock) => Words) {
  const clock = new HandClock(begin)
  const sandbox = await sandboxOfFile({ data: 'none', clock })
  const all = { ...words(clock), ...timed(clock) }
  stories(file, sandbox, settings, all, (kind) => new TimedList(sandbox, kind, clock, settings))
  return { clock, sandbox }
}
