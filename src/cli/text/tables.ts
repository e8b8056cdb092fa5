/* Changes to the tables of a warehouse, in words. */

interface TableChange {
  readonly table: string
  readonly what: string
}

export const changeLine = ({ table, what }: TableChange): string => `${table}: ${what}`

export function migrateText(where: string, changes: readonly TableChange[]): string {
  const tables = new Set(changes.map(({ table }) => table)).size
  const outcome = changes.length === 0 ? 'up to date' : `${changes.length} changes in ${tables} tables`
  return [...changes.map(changeLine), `${where}: ${outcome}`].join('\n')
}
