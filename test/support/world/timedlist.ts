/**
 * One list whose source has the program's clock, and shows its time: records an hour apart, the newest an hour old. The
 * test moves the clock, and sets the program's wrong (`clock.skew`).
 */
import { addMicros } from '../../../src/engine/base/timestamp.js'
import type { Sandbox } from '../../../src/sandbox/index.js'
import type { RunOptions, Source } from '../harness/runs.js'
import { statusOf } from '../harness/status.js'
import type { Kind } from '../harness/warehouse.js'
import { Between } from './between.js'
import type { HandClock } from './clocks.js'
import { OneList } from './onelist.js'

/** When every list begins. */
export const begin = '2026-03-01T00:00:00.000000Z'
export const later = (seconds: number): string => addMicros(begin, BigInt(Math.round(seconds * 1e6)))

/** The source sends no `Date`. */
export const dateless = (source: Source): Source =>
  new Between(source, async (_, ask) => ({ ...(await ask()), serverDate: undefined }))

export class TimedList extends OneList {
  constructor(
    sandbox: Sandbox,
    kind: Kind,
    /** The sandbox's, too. */
    private readonly time: HandClock,
    usual: RunOptions = {},
    resource = 'notes',
  ) {
    super(sandbox, kind, { clock: time.skewed, ...usual }, resource)
  }

  protected override startClock(): HandClock {
    this.time.micros = BigInt(Date.parse(begin)) * 1000n
    this.time.skew = 0n
    return this.time
  }

  override add(count: number, from = 1): void {
    for (let id = from; id < from + count; id++) this.put(id, later(-3600 * (count + 1 - id)))
  }

  /** This many seconds later on both clocks. */
  wait(seconds: number): void {
    this.time.pass(seconds * 1000)
  }

  /** What `status` says, by the right clock. */
  status(options: { readonly deletesUncheckedAfterMs?: number } = {}): ReturnType<typeof statusOf> {
    const usual = { nowMicros: this.time.nowMicros(), resources: [this.resource] }
    return statusOf(this.sandbox, this.warehouse, { ...usual, ...options })
  }
}
