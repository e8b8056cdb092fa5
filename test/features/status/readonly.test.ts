/**
 * Commands that only read, by a user who may not write: a file on a read-only mount, or another user's. They make no
 * file beside it, which would keep its owner from writing.
 */
import { chmodSync, copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Ended } from '../../support/harness/call.js'
import { viewedPlace } from '../../support/harness/place.js'
import { Program, program } from '../../support/harness/process.js'
import { sample } from '../../support/harness/size.js'

/** root may write everything: then the commands run as nobody. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const there = await viewedPlace({ tenants: 1, repairOrders: 3 })
let data = join(there.folder, 'data')

describe.skipIf(process.platform === 'win32')('a warehouse that may only be read', () => {
  const file = (): string => join(data, 'warehouse.db')
  const asReader = (...words: string[]): Promise<Ended> => {
    const env = { PATH: process.env.PATH ?? '', API_SECRET: there.sandbox.secret }
    return new Program(program, words, { cwd: there.folder, env, ...nobody }).ended
  }
  /** What is in the folder, which nobody may write from now on. */
  const closed = (): string[] => {
    const names = readdirSync(data)
    for (const name of names) chmodSync(join(data, name), 0o444)
    chmodSync(data, 0o555)
    return names
  }
  const opened = (): void => {
    chmodSync(data, 0o755)
    for (const name of readdirSync(data)) chmodSync(join(data, name), 0o644)
  }

  beforeAll(async () => {
    expect((await there.run('sync')).code).toBe(0)
    chmodSync(there.folder, 0o755)
    mkdirSync(join(there.folder, 'out'))
    chmodSync(join(there.folder, 'out'), 0o777)
  })
  afterAll(opened)

  it('is read by every command that only reads, and nothing is made beside it', async () => {
    const seen = ({ code, json }: Ended): unknown => {
      const { cursors } = json() as { readonly cursors: readonly Record<string, unknown>[] }
      return [code, cursors.map(({ age_seconds: _, ...cursor }) => cursor)]
    }
    const usual = await there.run('status', '--json')
    const db = new BetterSqlite3(file())
    const id = db.prepare('select id from repair_orders limit 1').pluck().get()
    db.close()
    const names = closed()
    expect(seen(await asReader('status', '--json'))).toEqual(seen(usual))
    const commands = [
      ...[['plan'], ['runs'], ['report', '--out', 'out/report.html'], ['quarantine', 'list']],
      ...[
        ['dictionary', '--format', 'json'],
        ['why', 'repair_orders', String(id)],
      ],
    ]
    for (const words of sample(commands, 2))
      expect([words[0], await asReader(...words)]).toMatchObject([words[0], { code: 0 }])
    expect(readdirSync(data)).toEqual(names)
    opened()
  })

  it('is read while a program writes, with what it wrote last', async () => {
    const writing = new BetterSqlite3(file())
    writing.prepare("update sync_runs set status = 'failed'").run()
    const names = closed()
    expect(names).toContain('warehouse.db-wal')
    expect((await asReader('runs')).stdout).toContain('failed')
    expect(readdirSync(data)).toEqual(names)
    opened()
    writing.close()
  })

  it('is refused if its last changes can only be read by a program that writes', async () => {
    const kept = join(there.folder, 'kept')
    const writing = new BetterSqlite3(file())
    writing.prepare("update sync_runs set status = 'ok'").run()
    mkdirSync(kept)
    for (const end of ['', '-wal']) copyFileSync(`${file()}${end}`, join(kept, `warehouse.db${end}`))
    writing.close()
    const before = data
    data = kept
    there.configure({ warehouse: { url: 'sqlite:./kept/warehouse.db' } })
    closed()
    const { code, stderr } = await asReader('status')
    expect(code).toBe(3)
    expect(stderr).toContain('cannot be read by a user who may not write there: its last changes are in')
    opened()
    rmSync(kept, { recursive: true })
    data = before
    there.configure()
  })
})
