import type { TestProject } from 'vitest/node'
import { expectCompiled } from './compiled.js'
import { startPostgres } from './postgres.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection URL of the tests' Postgres; empty when only SQLite is tested (DIALECTS=sqlite). */
    postgresUrl: string
  }
}

/** One Postgres for the whole test run; every test makes a schema of its own in it. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  expectCompiled()
  // A run of tests within a test has that test's server (test/long/premises.test.ts).
  const given = process.env.DIALECTS === 'sqlite' ? '' : process.env.TEST_POSTGRES
  if (given !== undefined) {
    project.provide('postgresUrl', given)
    return undefined
  }
  const postgres = await startPostgres()
  project.provide('postgresUrl', postgres.url)
  return () => postgres.stop()
}
