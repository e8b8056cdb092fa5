import type { TestProject } from 'vitest/node'
import type { LawSuite } from '../world/lawsuite.js'
import { expectCompiled } from './compiled.js'
import type { PostgresTemplate } from './databases.js'
import { type SqliteTemplate, startTemplates } from './templates.js'

declare module 'vitest' {
  interface ProvidedContext {
    warehouses: 'sqlite' | 'both'
    /** For `sized` (test/support/harness/size.ts). */
    size: 'some' | 'all'
    /** By runs before this one: only in `npm run test:long`. */
    played: readonly string[]
    /** Whether it was called with -u, so that what was expected is written anew. */
    rewrites: boolean
    /** Of the properties (test/support/world/searched.ts). */
    seed: number
    /** Only in `npm run test:search`. */
    search: LawSuite
    /** Where this run's templates are requested (test/support/harness/templates.ts). */
    templates: string
    /** Where they are, once they were requested. */
    sqlite: SqliteTemplate
    postgres: PostgresTemplate
  }
}

/** One SQLite file and one Postgres for the whole test run; every test makes its own warehouse from them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  expectCompiled()
  const templates = await startTemplates()
  project.provide('rewrites', project.config.snapshotOptions.updateSnapshot === 'all')
  project.provide('templates', templates.url)
  project.provide('sqlite', templates.sqlite)
  project.provide('postgres', templates.postgres)
  return () => templates.stop()
}
