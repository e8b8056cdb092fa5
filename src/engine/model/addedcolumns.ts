import { field, type Kind, kinds, type Resource } from '../../../schema/resource.js'
import { Stop } from '../base/errors.js'
import { tablesOf } from './table.js'

/** Postgres cuts longer names off, and two columns could get one name. */
const MAX_NAME = 63

function problem(resource: Resource, name: string, kind: string): string | undefined {
  const taken = tablesOf(resource)[0]?.columns.some((column) => column.name === name)
  if (taken || Object.hasOwn(resource.fields, name)) return 'exists already; take it out of the configuration'
  if (name === '' || name.length > MAX_NAME) return `is not 1 to ${MAX_NAME} characters long`
  if (name.includes('\u0000')) return 'has a character that no column name can hold'
  if (!kinds.some((known) => known === kind))
    return `is of the unknown kind ${kind}; known: ${kinds.join(', ')}`
  return undefined
}

/**
 * The resource with fields of its own that the configuration adds: the API's document does not show them, and without
 * the configuration their values would be in `_extra`. They are nullable.
 */
export function withColumns(resource: Resource, columns: Readonly<Record<string, Kind>>): Resource {
  const promoted = Object.entries(columns)
  if (promoted.length === 0) return resource
  for (const [name, kind] of promoted) {
    const wrong = problem(resource, name, kind)
    if (wrong === undefined) continue
    throw new Stop(`Configuration: resources.${resource.name}.columns.${name} ${wrong}`, {
      exitCode: 2,
      hint: `\`shopsync dictionary\` shows the columns of ${resource.name}`,
    })
  }
  const fields = promoted.map(([name, kind]) => {
    const doc = 'Not shown in the document; made a column by the configuration.'
    return [name, field(kind, doc, { nullable: true })] as const
  })
  return { ...resource, fields: { ...resource.fields, ...Object.fromEntries(fields) } }
}
