import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { type Columns, quoted, upsertTail } from './columns.js'
import { tablesOf } from './flatten.js'
import { Cells, type Packed } from './packed.js'

const rowsPerStatement = 32
const { path, columns } = workerData as { path: string; columns: Columns }

const db = new Database(path)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = NORMAL')
db.pragma('cache_size = -16000')
db.pragma('temp_store = memory')
db.pragma('wal_autocheckpoint = 16000')

class Table {
  readonly #statements = new Map<number, Database.Statement<unknown[]>>()
  readonly #columns: Columns[number]

  constructor(table: Columns[number]) {
    this.#columns = table
  }

  write(cells: Cells, rows: number): void {
    let left = rows
    for (let size = rowsPerStatement; size >= 1; size >>= 1)
      for (; left >= size; left -= size) this.#statement(size).run(...this.#parameters(cells, size))
  }

  #statement(rows: number): Database.Statement<unknown[]> {
    const known = this.#statements.get(rows)
    if (known) return known
    const { name, columns: all } = this.#columns
    const row = `(${all.map(() => '?').join(',')})`
    const values = Array.from({ length: rows }, () => row).join(',')
    const into = `insert into ${quoted(name)} (${all.map((column) => quoted(column.name)).join(',')})`
    const statement = db.prepare<unknown[]>(`${into} values ${values} ${upsertTail(this.#columns)}`)
    this.#statements.set(rows, statement)
    return statement
  }

  #parameters(cells: Cells, rows: number): unknown[] {
    const parameters: unknown[] = []
    const { columns: all } = this.#columns
    for (let row = 0; row < rows; row++)
      for (const { name } of all) {
        if (name === 'tenant_id') parameters.push(tenant)
        else if (name === '_synced_at') parameters.push(syncedAt)
        else if (name === '_deleted_at') parameters.push(null)
        else parameters.push(cells.next())
      }
    return parameters
  }
}

let syncedAt = ''
let tenant = 0
const tables = new Map(columns.map((table) => [table.name, new Table(table)]))

parentPort?.on('message', (packed: Packed | null) => {
  if (packed === null) {
    db.close()
    parentPort?.close()
    return
  }
  syncedAt = `${new Date().toISOString().slice(0, 23)}000Z`
  tenant = packed.tenant
  const cells = new Cells(packed)
  db.exec('begin immediate')
  for (const [i, name] of tablesOf[packed.resource].entries())
    tables.get(name)?.write(cells, packed.counts[i] ?? 0)
  db.exec('commit')
  parentPort?.postMessage(null)
})
