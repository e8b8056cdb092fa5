/** `forget --customer`: nothing says anything about the customer any more, whatever comes after, and the books agree. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/call.js'
import { books, leaks, type MarkedCustomer, markCustomer, whereIs } from '../../support/forgotten.js'
import { type Address, configure } from '../../support/place.js'
import { scratch } from '../../support/scratch.js'
import { dialectWarehouses, reopen } from '../../support/warehouse.js'

const history = Object.fromEntries(
  ['customers', 'repair_orders', 'notes', 'integrator_tags'].map((name) => [name, { history: true }]),
)

interface Here {
  readonly sandbox: Sandbox
  readonly person: MarkedCustomer
  readonly address: Address
  readonly config: string
  /** Runs a command. */
  run(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }>
  done(...words: string[]): Promise<string>
}

async function inside(address: Address, work: (here: Here) => Promise<void>): Promise<void> {
  const sandbox = await createSandbox({ tenants: 2, repairOrders: 12, seed: 3 })
  try {
    const person = markCustomer(sandbox, 101)
    const config = configure(sandbox, address, [], { resources: history })
    const document = JSON.parse(readFileSync(config, 'utf8')) as Record<string, unknown>
    writeFileSync(config, JSON.stringify({ ...document, sync: { resources: 'all' } }))
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await shopsync([...words, '--config', config])
      return { code: code ?? -1, stdout, stderr }
    }
    const done = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(...words)
      expect(code, `${words.join(' ')}: ${stderr}${stdout}`).toBe(0)
      return stdout
    }
    await work({ sandbox, person, address, config, run, done })
  } finally {
    await sandbox.close()
  }
}

const forget = ['forget', '--tenant', '101', '--customer', '900001', '--yes'] as const

describe.each(dialectWarehouses())('$name', (kind) => {
  it('leaves no byte about the customer, and the books as they were; and nothing brings one back', async () => {
    await inside(kind.address(), async ({ person, address, config, run, done }) => {
      await run('sync')
      person.update()
      await run('sync')
      const marks = await leaks(address)
      for (const word of [
        'first_name',
        'tag',
        'customers_extra',
        'quarantined',
        'deep',
        'comment',
        'response_text',
      ])
        expect(marks.join(' '), word).toContain(`-${word}-`)
      const before = await books(address, person)
      const counts = JSON.parse(await done(...forget.slice(0, 5), '--dry-run', '--json')) as {
        tables: object[]
      }
      expect(await leaks(address)).toEqual(marks)
      const { receipts } = JSON.parse(await done(...forget, '--json')) as {
        receipts: { tables: object[]; kept: object[] }[]
      }
      expect(await whereIs(address)).toEqual([])
      expect(await leaks(address)).toEqual([])
      expect(await books(address, person)).toEqual(before)
      expect(receipts[0]?.tables).toEqual(expect.arrayContaining(counts.tables))
      expect(receipts[0]?.kept).toEqual([{ table: 'vehicles', rows: 1 }])
      const ways = [
        ['sync'],
        ['sync', '--full'],
        ['backfill', '--from', '2020-01-01', '--to', '2030-01-01'],
        ['reconcile', '--full'],
        ['quarantine', 'replay'],
        ['sync'],
      ]
      for (const isUpdated of [false, true]) {
        if (isUpdated) person.update()
        for (const words of ways) {
          const { stderr, stdout, code } = await run(...words)
          expect([0, 1], stderr + stdout).toContain(code)
          expect(await leaks(address), words.join(' ')).toEqual([])
          expect(stderr + stdout).not.toContain('zqmark')
        }
        await done('verify')
      }
      const proven = JSON.parse((await run('sync', '--json')).stdout) as {
        cursors: { completeness: string; status: string }[]
      }
      expect(new Set(proven.cursors.map(({ completeness }) => completeness))).toEqual(new Set(['proven']))
      const copied = join(scratch(), 'copy.db')
      await done('copy', '--to', `sqlite:${copied}`)
      expect(await leaks({ url: `sqlite:${copied}`, schema: '' })).toEqual([])
      const document = JSON.parse(readFileSync(config, 'utf8')) as object
      const there = join(scratch(), 'config.json')
      writeFileSync(there, JSON.stringify({ ...document, warehouse: { url: `sqlite:${copied}` } }))
      person.update()
      expect((await shopsync(['sync', '--full', '--config', there])).code).toBeLessThan(2)
      expect(await leaks({ url: `sqlite:${copied}`, schema: '' })).toEqual([])
      expect(await done(...forget)).toContain('101/900001 is forgotten')
    })
  })

  it('writes a receipt for its owner, and none that names the customer', async () => {
    await inside(kind.address(), async ({ config, run, done }) => {
      await run('sync')
      await done(...forget)
      const file = join(dirname(config), 'forgotten.jsonl')
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
      expect(lines).toHaveLength(2)
      expect(lines.join()).not.toContain('zqmark')
      expect(JSON.parse(lines[1] ?? '')).toMatchObject({
        ...{ tenant_id: 101, customer_id: 900_001, traces_left: null, done_at: expect.any(String) },
        elsewhere: expect.stringContaining('ackups'),
      })
    })
  })

  it('tells a restored backup from what the file knows, and forgets again', async () => {
    await inside(kind.address(), async ({ address, config, run, done }) => {
      await run('sync')
      const warehouse = await reopen(address)
      const copied = join(scratch(), 'backup.db')
      await warehouse.close()
      await done('copy', '--to', `sqlite:${copied}`)
      await done(...forget)
      const document = JSON.parse(readFileSync(config, 'utf8')) as object
      // The backup under the same configuration.
      writeFileSync(config, JSON.stringify({ ...document, warehouse: { url: `sqlite:${copied}` } }))
      const status = await run('status')
      expect(status.code).toBe(1)
      expect(status.stdout).toContain('101/900001')
      expect((await run('check')).stdout).toContain('forget --replay')
      const file = join(dirname(config), 'forgotten.jsonl')
      await done('forget', '--replay', file)
      expect(await leaks({ url: `sqlite:${copied}`, schema: '' })).toEqual([])
      expect((await run('status')).stdout).not.toContain('forget --replay')
      expect((await run('why', 'customers', '900001')).stdout).toContain('erased on request')
      await done('forget', '--tenant', '101', '--customer', '900001', '--lift')
      expect((await run('status')).stdout).not.toContain('forget --replay')
    })
  })

  it('refuses what it can not do, with exit code 2, and does nothing', async () => {
    await inside(kind.address(), async ({ address, run, config }) => {
      await run('sync')
      const before = await leaks(address)
      for (const [words, hint] of [
        [['--tenant', '101', '--customer', '12345678'], 'no customer 12345678'],
        [['--tenant', '102', '--customer', '900001'], 'no customer 900001 of tenant 102'],
        [['--tenant', '101', '--customer', 'x'], 'positive whole number'],
        [['--customer', '5'], 'no --tenant'],
        [['--tenant', '101', '--tenant', '102', '--customer', '5'], '2 tenants'],
        [['--tenant', '101', '--customer', '900001', '--lift'], 'was not forgotten'],
        [['--replay', 'nowhere.jsonl'], 'no file'],
        [['--tenant', '101', '--replay', config], 'expected one of them'],
        [['--tenant', '101', '--dry-run'], '--dry-run without --customer'],
      ] as const) {
        const { code, stderr } = await run('forget', ...words, '--yes')
        expect(code, words.join(' ')).toBe(2)
        expect(stderr).toContain(hint)
      }
      expect(await leaks(address)).toEqual(before)
    })
  })
})
