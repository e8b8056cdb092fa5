/** The diagrams as text: what their own parsers, or the grammar that a parser follows, make of them. */
import { Parser } from '@dbml/core'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { toDbml } from '../../../src/features/dictionary/dbml.js'
import { describeModel } from '../../../src/features/dictionary/describe.js'
import { dataTables } from '../../../src/features/dictionary/dictionary.js'
import { toMermaid } from '../../../src/features/dictionary/mermaid.js'
import { known } from '../../support/run.js'

const list = Object.values(resources)
const whole = describeModel(list, known.state)
const data = dataTables(whole)
const joins = data.flatMap((table) => table.joins.map((join) => [table.name, ...join.columns, join.table]))

/** Declarations whose texts hold what the formats quote with. */
const [first] = list
const id = first!.fields.id!
const awkward = describeModel(
  [
    {
      ...first!,
      doc: `It's "so" \\ {x} 'y'\nand more`,
      fields: { id, updated_at: first!.fields.updated_at!, 'na"me of it': { ...id, doc: `a'b "c" \\` } },
    } as typeof first & object,
  ],
  known.state,
)

describe('DBML', () => {
  const parse = (text: string) => new Parser().parse(text, 'dbmlv2').schemas[0]!

  it('is read back with every table, column, key and reference', () => {
    const { tables, refs, tableGroups } = parse(toDbml(whole))
    expect(tables.map(({ name }) => name)).toEqual(data.map(({ name }) => name))
    for (const [i, table] of data.entries()) {
      const found = tables[i]!
      expect(found.fields.map(({ name, type }) => [name, type.type_name])).toEqual(
        table.columns.map(({ name, postgres }) => [name, postgres]),
      )
      const keys = found.indexes
        .filter(({ pk }) => pk)
        .map(({ columns }) => columns.map(({ value }) => value))
      expect(keys).toEqual([table.key])
    }
    const read = refs.map(({ endpoints: [from, to] }) => [
      from?.tableName,
      ...from!.fieldNames,
      to?.tableName,
    ])
    expect(read).toEqual(joins)
    expect(tableGroups.flatMap(({ tables: own }) => own.map(({ name }) => name)).sort()).toEqual(
      data.map(({ name }) => name).sort(),
    )
  })

  it('keeps awkward texts, and does not break on them', () => {
    const [table] = parse(toDbml(awkward)).tables
    expect(table?.note).toContain(`It's "so" \\ {x} 'y' and more`)
    expect(table?.fields.map(({ note }) => note)).toContain(`a'b "c" \\`)
  })
})

describe('Mermaid', () => {
  // Mermaid's own parser needs a newer Node than this program: its grammar of a diagram, line by line.
  const grammar = [
    /^erDiagram$/,
    /^ {2}[A-Za-z_]\w* \{$/,
    /^ {4}[a-z]+ [A-Za-z_]\w*(?: (?:PK|FK|PK, FK))? "[^"\n]*"$/,
    /^ {2}\}$/,
    /^ {2}[A-Za-z_]\w* (?:\|\||\|o)--o\{ [A-Za-z_]\w* : "[^"\n]+"$/,
  ]

  it.each([
    ['the declarations', whole],
    ['awkward texts', awkward],
  ])('of %s follows the grammar', (_name, dictionary) => {
    const lines = toMermaid(dictionary).trimEnd().split('\n')
    expect(lines.filter((line) => !grammar.some((rule) => rule.test(line)))).toEqual([])
  })

  it('shows every table with its key, and every reference', () => {
    const text = toMermaid(whole)
    for (const { name, key } of data) {
      const [, body = ''] = new RegExp(`^  ${name} \\{\n((?:    .*\n)*)  \\}$`, 'm').exec(text) ?? []
      for (const column of key) expect(body).toMatch(new RegExp(`^    \\w+ ${column} PK`, 'm'))
    }
    const related = [...text.matchAll(/^ {2}(\w+) \S+ (\w+) : "(\w+)"$/gm)].map(([, to, from, column]) => [
      from,
      column,
      to,
    ])
    expect(related).toEqual(joins.map((join) => [join[0], ...join.slice(-2)]))
  })
})
