/**
 * Stories of a list whose source has the program's clock, and shows its time: with what is late, ahead, or told by a wrong
 * clock. Records are an hour apart, the newest an hour old.
 */
import { addMicros } from '../../../src/engine/base/timestamp.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { latenessOf, type RunOptions, type Source } from '../harness/runs.js'
import { sandboxOfFile } from '../harness/sandbox.js'
import { statusLines, statusOf } from '../harness/status.js'
import { type Kind, readLateness } from '../harness/warehouse.js'
import { between, replacing } from './between.js'
import { HandClock } from './clocks.js'
import type { ListStory, Words } from './liststory.js'
import { stories } from './listwords.js'
import { OneList } from './onelist.js'
import { idsOf, plain } from './stories.js'

/** When every list begins. */
const begin = '2026-03-01T00:00:00.000000Z'
export const later = (seconds: number): string => addMicros(begin, BigInt(Math.round(seconds * 1e6)))

/** A source that never sends its time. */
const dateless = (source: Source): Source =>
  replacing((its) => ({ stats: () => ({ ...its.stats(), serverTime: undefined }) }))(
    between(async (_request, ask) => ({ ...(await ask()), serverDate: undefined }))(source),
  )

class TimedList extends OneList {
  constructor(
    sandbox: Sandbox,
    kind: Kind,
    /** The sandbox's, too. */
    private readonly time: HandClock,
    usual: RunOptions = {},
  ) {
    super(sandbox, kind, { clock: time.skewed, ...usual })
  }

  protected override startClock(): HandClock {
    this.time.micros = BigInt(Date.parse(begin)) * 1000n
    this.time.skew = 0n
    return this.time
  }

  override add(count: number, from = 1): void {
    for (let id = from; id < from + count; id++) this.put(id, later(-3600 * (count + 1 - id)))
  }
}

/** What `status` says, by the right clock. */
export const statusNow = ({ list }: ListStory, deletesUncheckedAfterMs = 3 * 86_400_000) =>
  statusOf(list.sandbox, list.warehouse, { nowMicros: list.clock.nowMicros(), deletesUncheckedAfterMs })

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
    const around = between((_, ask) => {
      clock.pass(10_000)
      return ask()
    })
    story.options = { around }
  },
  'all as usual': (story) => {
    story.options = {}
  },
  status: async (story) => statusLines(await statusNow(story)).join(' ') || 'nothing odd',
  'status of WORD': async (story, part) => {
    const { cursors, ...report } = await statusNow(story)
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
}
