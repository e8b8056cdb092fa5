// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type
import { expect, test } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { copyPlace } from '../../../src/features/copy/place.js'

const environment = { PGPASSWORD: 'geheim', EMPTY: '' }
const placed = (to: unknown, schema?: unknown) => {
  const { url, schema: name } = copyPlace(
    { to, schema },
    { schema: 'usual', views: 'usual_analytics' },
    { environment, workingDirectory: '/srv' },
  )
  return [url.reveal(), name]
}

test('accepts an address as in a configuration, with environment variables', () => {
  expect(placed('sqlite:./copy.db')).toEqual(['sqlite:/srv/copy.db', 'usual'])
  expect(placed('postgres://me:${PGPASSWORD}@db/x?sslmode=require', 'other')).toEqual([
    'postgres://me:geheim@db/x?sslmode=require',
    'other',
  ])
})

test.each([
  [undefined, undefined, 'Found no --to, expected the address of the copy', '--to sqlite:./copy.db'],
  [
    'copy.db',
    undefined,
    'as --to, expected "sqlite:PATH" or "postgres://USER@HOST/DATABASE"',
    '--to sqlite:./copy.db',
  ],
  ['sqlite:${NOWHERE}', undefined, 'the environment variable NOWHERE is not set', 'export NOWHERE'],
  ['postgres://me:${EMPTY}@db/x', undefined, 'the environment variable EMPTY is empty', 'export EMPTY'],
  [
    'postgres://me:${PGPASSWORD}@db/x?sslmode=prefer',
    undefined,
    'Found sslmode=prefer as --to',
    'sslmode=verify-full',
  ],
  [
    'sqlite:./copy.db',
    'x',
    'Found a schema as --to-schema, expected none, because SQLite has no schemas',
    '',
  ],
  ['postgres://db/x', 'No', 'Found "No" as --to-schema', '--to-schema shopsync'],
  [
    'postgres://db/x',
    'usual_analytics',
    'Found usual_analytics, the schema of the views',
    '--to-schema usual_copy',
  ],
  [
    'jdbc:postgresql:x',
    undefined,
    'begins with "jdbc:"',
    "--to 'postgres://USER:PASSWORD@HOST:PORT/DATABASE'",
  ],
])('%s, %s is refused with what to type, and without any secret', (to, schema, message, hint) => {
  let refused: unknown
  try {
    placed(to, schema)
  } catch (error) {
    refused = error
  }
  if (!(refused instanceof Stop)) throw new Error('expected a Stop')
  expect(refused.exitCode).toBe(2)
  expect(refused.message).toContain(message)
  expect(refused.hint ?? '').toContain(hint)
  expect(`${refused.message} ${refused.hint}`).not.toContain('geheim')
})
