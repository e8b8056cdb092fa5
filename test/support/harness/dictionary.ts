/** The dictionary as the program writes it: as JSON, as sources of dbt, and as datasets of Superset. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Dictionary } from '../../../src/features/dictionary/dictionary.js'
import { shopsync } from './call.js'
import { program } from './process.js'
import { scratch } from './scratch.js'

/** What the program prints. */
export async function dictionaryAs(format: string, ...words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await shopsync(['dictionary', '--format', format, ...words])
  if (code !== 0) throw new Error(stderr)
  return stdout
}

export const dictionary = async (): Promise<Dictionary> =>
  JSON.parse(await dictionaryAs('json')) as Dictionary

/** Its sources of dbt for the warehouse of a configuration. */
export const dbtSources = async <T>(config: string): Promise<T> =>
  parse(await dictionaryAs('dbt', '--config', config)) as T

export interface Dataset {
  readonly table_name: string
  readonly schema: string
  readonly uuid: string
  readonly database_uuid: string
  readonly main_dttm_col: string | null
  readonly columns: readonly {
    readonly column_name: string
    readonly type: string
    readonly is_dttm: boolean
    readonly python_date_format: string | null
  }[]
  readonly sql?: string
  readonly metrics: readonly {
    readonly metric_name: string
    readonly expression: string
    readonly d3format?: string
  }[]
}

/** Superset opens archives with Python. */
const unzip = [
  '-c',
  'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])',
]

/** The archive for Superset, for the warehouse of a configuration. An archive is no text: the program has its own process. */
export const supersetArchive = (config: string): Buffer =>
  execFileSync(process.execPath, [program, 'dictionary', '--format', 'superset', '--config', config])

export function supersetOf(config: string) {
  const folder = scratch()
  const archive = supersetArchive(config)
  const file = join(folder, 'datasets.zip')
  writeFileSync(file, archive)
  mkdirSync(join(folder, 'out'))
  execFileSync('python3', [...unzip, file, join(folder, 'out')])
  const at = (...names: string[]): string => join(folder, 'out/shopsync', ...names)
  const read = <T>(...names: string[]): T => parse(readFileSync(at(...names), 'utf8')) as T
  const datasets = readdirSync(at('datasets/shopsync')).map((name) =>
    read<Dataset>('datasets/shopsync', name),
  )
  return { archive, read, datasets }
}
