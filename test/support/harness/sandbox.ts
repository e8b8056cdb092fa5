import { afterAll } from 'vitest'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/index.js'

/** A sandbox for the tests of one file, closed after the last one; without options, it is empty. */
export async function sandboxOfFile(options: SandboxOptions = { data: 'none' }): Promise<Sandbox> {
  const sandbox = await createSandbox(options)
  afterAll(() => sandbox.close())
  return sandbox
}
