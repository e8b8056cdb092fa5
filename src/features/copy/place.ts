/* Where a copy goes, as a person types it: a warehouse address and a schema name. */
import { closeSync, existsSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { Stop } from '../../engine/base/errors.js'
import { inFolder, warehouseProblem } from '../../engine/config/address.js'
import { type Environment, expand } from '../../engine/config/expand.js'
import { isSchemaName } from '../../engine/config/leaf.js'
import type { Problem } from '../../engine/config/problems.js'
import { Secret } from '../../engine/config/secret.js'

const refuse = (flag: string, { found, expected, hint }: Omit<Problem, 'path'>): Stop =>
  new Stop(`Found ${found} as ${flag}, expected ${expected}`, { exitCode: 2, hint })

/** If a mistyped folder were created, the copy would fill the wrong disk. */
function refuseMissingFolder(typed: string, url: string): void {
  if (!url.startsWith('sqlite:')) return
  const folder = dirname(url.slice('sqlite:'.length))
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  throw refuse('--to', {
    found: typed,
    expected: `a file in an existing folder: there is no ${folder}`,
    hint: `Create it (mkdir -p ${folder}), or name another file`,
  })
}

/** `usual`: the schemas of this warehouse; the first is the default. `${NAME}` in the text is filled in from the environment. */
export function copyPlace(
  { to, schema }: { readonly to: unknown; readonly schema: unknown },
  usual: { readonly schema: string; readonly views: string },
  { environment, workingDirectory }: { readonly environment: Environment; readonly workingDirectory: string },
): { readonly url: Secret; readonly schema: string } {
  if (typeof to !== 'string')
    throw new Stop('Found no --to, expected the address of the copy', {
      exitCode: 2,
      hint: `Type shopsync copy --to sqlite:./copy.db, or --to 'postgres://USER:\${PGPASSWORD}@HOST/DATABASE'`,
    })
  const { value, problems } = expand(to, { environment, folder: '', secrets: new Set() })
  const typed = String(value).trim()
  const url = inFolder(typed, workingDirectory)
  const [unset] = problems
  if (unset)
    throw new Stop(`Found ${unset.found}; expected ${unset.expected}, because --to names it`, {
      exitCode: 2,
      hint: unset.hint,
    })
  const problem = warehouseProblem(typed)
  if (problem)
    throw refuse('--to', {
      ...problem,
      hint: problem.hint
        ?.replace('"url": "sqlite:./warehouse.db"', '--to sqlite:./copy.db')
        .replace(/"url": "(postgres[^"]*)"/, "--to '$1'"),
    })
  refuseMissingFolder(typed, url)
  if (schema === undefined) return { url: new Secret(url), schema: usual.schema }
  if (url.startsWith('sqlite:'))
    throw refuse('--to-schema', { found: 'a schema', expected: 'none, because SQLite has no schemas' })
  if (!isSchemaName(String(schema)))
    throw refuse('--to-schema', {
      found: JSON.stringify(schema),
      expected: 'lower case letters, digits and _, no leading digit, not pg_…, at most 63 characters',
      hint: 'Type for example --to-schema shopsync',
    })
  if (schema === usual.views)
    throw refuse('--to-schema', {
      found: `${usual.views}, the schema of the views of this warehouse,`,
      expected: 'another one: the views of the copy get a schema of their own',
      hint: `Type for example --to-schema ${usual.schema}_copy`,
    })
  return { url: new Secret(url), schema: String(schema) }
}

/**
 * The file of a copy of some tenants: nobody takes a part of it for all, and only its owner may read it. `begin` makes it;
 * `finish` returns where the whole copy is.
 */
export function partFile(url: string): { readonly url: string; begin(): void; finish(): string } | undefined {
  const path = /^sqlite:(.*)$/s.exec(url)?.[1]
  if (path === undefined) return undefined
  if (existsSync(path))
    throw new Stop(
      `There is a file ${path} already, expected a name of no file: a copy of some tenants is new`,
      {
        exitCode: 2,
        hint: 'Name another file, or delete that one',
      },
    )
  const part = `${path}.part`
  const begin = (): void => closeSync(openSync(part, 'a', 0o600))
  const finish = (): string => {
    renameSync(part, path)
    return url
  }
  return { url: `sqlite:${part}`, begin, finish }
}
