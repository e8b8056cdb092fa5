/**
 * What makes a copy the original, taken away piece by piece: each mutant is one change of the compiled program, under the
 * promise that it breaks (docs/operations.md, Moving a warehouse). `npm run test:long -- copymutants` plays them; `npm test`
 * sees that each still fits.
 */
import type { MutantTable, ProductMutant } from './productmutants.js'

type Noticed = Pick<ProductMutant, 'test' | 'name' | 'on'>

const trip: Noticed = {
  test: 'test/sync/copy.test.ts',
  name: 'every table is the same',
  on: ['sqlite', 'postgres'],
}
const cut = 'test/sync/copying.test.ts'
const onBoth = (name: string): Noticed => ({ test: cut, name, on: ['sqlite', 'postgres'] })
const noticed = (name: string): Noticed => ({ test: cut, name, on: [] })

const bring = 'src/warehouse/copy/bring.ts'
const tables = 'src/warehouse/copy/tables.ts'
const stream = 'src/warehouse/copy/stream.ts'
const values = 'src/warehouse/copy/values.ts'
const target = 'src/warehouse/copy/target.ts'
const copy = 'src/sync/ask/copy.ts'

/** In both passes, so that the comparison does not notice it. */
const without = (column: string): ProductMutant => ({
  without: `the values of ${column}`,
  file: bring,
  old: 'const carried = carriers[i]?.(value) ?? null;',
  now: `const carried = columns[i].name === '${column}' ? null : (carriers[i]?.(value) ?? null);`,
  ...trip,
})

export const copyMutants: MutantTable = {
  'a copy has everything': [
    without('_deleted_at'),
    without('watermark'),
    without('_extra'),
    {
      without: 'state',
      file: tables,
      old: 'table !== undefined), ...stateTableList];',
      now: 'table !== undefined)];',
      ...trip,
    },
    {
      without: 'histories',
      file: tables,
      old: '...known.filter((table) => table !== undefined), ',
      now: '',
      ...trip,
    },
    {
      without: 'columns that the configuration makes',
      file: tables,
      old: 'columns: [...declared, ...others]',
      now: "columns: declared.filter(({ doc }) => !doc.startsWith('Not shown'))",
      ...trip,
    },
    {
      without: 'indexes',
      file: copy,
      old: 'await makeIndexes(target, tables, copying);',
      now: '',
      ...trip,
    },
    {
      without: 'what the other side cannot hold',
      file: copy,
      old: 'await target.write(statements, fence);',
      now: ';',
      ...trip,
      on: ['postgres'],
    },
    {
      without: 'the place of what it cannot hold',
      file: 'src/warehouse/copy/losses.ts',
      old: "const position = isLast ? at('position') : owner",
      now: "const position = isLast ? at('position') : false",
      ...trip,
      on: ['postgres'],
    },
    {
      without: 'the layout of an older program',
      file: tables,
      old: 'key: key && key[0] === table.key[0] && key.length === live?.length ? key : table.key.filter(isThere),',
      now: 'key: table.key,',
      ...onBoth('brings a warehouse of 0.1.0'),
    },
  ],
  'both sides are compared': [
    {
      without: 'comparing anything',
      file: copy,
      old: 'const equal = source.rows === target.rows && source.digest === target.digest;',
      now: 'const equal = true;',
      ...onBoth('says so where the copy is not the original'),
    },
    {
      without: 'comparing values',
      file: copy,
      old: ' && source.digest === target.digest;',
      now: ';',
      ...onBoth('says so where the copy is not the original'),
    },
    {
      without: 'one order of members for both',
      file: values,
      old: 'JSON.stringify(JSON.parse(marked), sorted)',
      now: 'JSON.stringify(JSON.parse(marked))',
      ...trip,
    },
    {
      without: 'one text for each number',
      file: values,
      old: 'return String(near);',
      now: ';',
      ...trip,
    },
    {
      without: 'one order of rows for both',
      file: 'src/warehouse/postgres/scan.ts',
      old: ' collate "C"',
      now: '',
      ...noticed('compares in one order'),
    },
  ],
  'a copy goes on': [
    {
      without: 'comparing what is there',
      file: stream,
      old: 'side === 0 && mine && theirs && isSame(mine, theirs)',
      now: 'side === 0 && mine && theirs',
      ...onBoth('is what the original is now'),
    },
    {
      without: 'taking away what is gone',
      file: stream,
      old: 'gone.push(theirs);',
      now: ';',
      ...onBoth('is what the original is now'),
    },
    {
      without: 'the mark of an unfinished copy',
      file: 'src/warehouse/migrate.ts',
      old: 'refuseUnfinished(meta, dialect.where);',
      now: '',
      ...onBoth('is refused by every other command'),
    },
    {
      without: 'taking the mark away',
      file: copy,
      old: 'await target.write([unmark(target)], deps.fence);',
      now: '',
      ...trip,
    },
    {
      without: 'asking whose copy it is',
      file: target,
      old: 'if (begun.from === from)',
      now: 'if (begun)',
      ...onBoth('is refused by every other command'),
    },
  ],
  'nothing else is touched': [
    {
      without: 'looking whether the target is empty',
      file: target,
      old: 'if (rows.size === 0)',
      now: 'if (rows)',
      ...onBoth('is refused where something else is'),
    },
    {
      without: 'looking whether the target is newer',
      file: copy,
      old: 'refuseNewerTables(found, plan.length, source.where, there.where);',
      now: '',
      ...onBoth('takes a target that migrate has made'),
    },
    {
      without: 'the lease of the original',
      file: copy,
      old: 'return holding(deps, source, async (signal) => {',
      now: 'return (async (ignored, also, work) => work(deps.signal))(deps, source, async (signal) => {',
      ...onBoth('waits for nobody'),
    },
  ],
}
