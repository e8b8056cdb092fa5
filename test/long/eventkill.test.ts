/**
 * Every event that was answered with 2xx is settled in the end, whatever was killed or stopped meanwhile, and no run
 * ends with 4 because of a listener. EVENT_KILLS=…, EVENTS=… and STOP_SECONDS=15,120 set how much of it.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { scratch } from '../support/harness/scratch.js'
import { bothWarehouses } from '../support/harness/warehouse.js'
import { EventStorm } from '../support/world/eventstorm.js'

const { EVENT_KILLS = '50', EVENTS = '5000', STOP_SECONDS = '15,120' } = process.env
const kills = Number(EVENT_KILLS)
const perSecond = 50

describe.each(bothWarehouses())('on $name', (kind) => {
  let storm: EventStorm
  afterEach(() => storm.close())

  async function expectAllSettled(): Promise<void> {
    expect(await storm.settled(180_000)).toEqual([])
    const there = new Set((await storm.inbox()).map(({ event_id }) => event_id))
    expect([...storm.answered()].filter((id) => !there.has(id))).toEqual([])
    const codes = new Map<number | null, number>()
    for (const { code } of storm.runs) codes.set(code, (codes.get(code) ?? 0) + 1)
    for (const { code, stderr } of storm.runs) expect([0, null], stderr).toContain(code)
    const states = new Map<string, number>()
    for (const { state, reason } of await storm.inbox()) {
      const name = reason === null ? `${state}` : `${state} ${reason}`
      states.set(name, (states.get(name) ?? 0) + 1)
    }
    console.log(
      kind.name,
      storm.answered().size,
      'answered;',
      Object.fromEntries(states),
      'runs',
      Object.fromEntries(codes),
    )
    storm.listening.run.kill('SIGTERM')
    expect((await storm.listening.run.ended).code).toBe(0)
    expect(await storm.command('reconcile')).toMatchObject({ code: 0 })
    expect(await storm.command('sync')).toMatchObject({ code: 0 })
    expect(await storm.waiting()).toEqual([])
    expect(await storm.command('verify', '--full')).toMatchObject({ code: 0 })
  }

  it(`${kills} kills of the listener, of a run, of both`, async () => {
    storm = await EventStorm.open(kind, 11)
    storm.begin({ perSecond, pauseMs: 3000 })
    const killed = { listener: 0, run: 0 }
    while (killed.listener + killed.run < kills || storm.answered().size < Number(EVENTS)) {
      await sleep(200 + storm.random() * 3000)
      if (killed.listener + killed.run >= kills) continue
      const whom = Math.floor(storm.random() * 3)
      if (whom !== 0 && storm.killRun()) killed.run += 1
      if (whom === 1) continue
      await storm.killListener()
      killed.listener += 1
      await sleep(storm.random() * 500)
      await storm.listen()
    }
    await storm.calm()
    console.log(kind.name, 'killed', killed)
    await expectAllSettled()
  })

  it('beside runs, hourly and copy, which get the warehouse, and after which events go on', async () => {
    storm = await EventStorm.open(kind, 13)
    storm.begin({ perSecond, pauseMs: 3000 })
    const schema = `c_${randomBytes(6).toString('hex')}`
    const to =
      kind.name === 'sqlite'
        ? [`sqlite:${join(scratch(), 'copy.db')}`]
        : [storm.address.url, '--to-schema', schema]
    for (const words of [
      ['run', 'hourly'],
      ['copy', '--to', ...to],
    ]) {
      const ended = await storm.command(...words)
      expect([words, ended.code, ended.stderr]).toEqual([words, 0, expect.any(String)])
      const before = storm.answered().size
      await expect.poll(() => storm.answered().size, { timeout: 30_000 }).toBeGreaterThan(before)
    }
    await storm.calm()
    await expectAllSettled()
  })

  it.each(STOP_SECONDS.split(',').map(Number))(
    'a listener that is stopped for %i seconds',
    async (seconds) => {
      storm = await EventStorm.open(kind, 12)
      storm.begin({ perSecond, pauseMs: 3000 })
      await sleep(5000)
      await storm.heldByListener()
      storm.listening.run.kill('SIGSTOP')
      await sleep(seconds * 1000)
      storm.listening.run.kill('SIGCONT')
      await sleep(10_000)
      await storm.calm()
      await expectAllSettled()
    },
  )
})
