import { afterAll, onTestFinished, TestRunner } from 'vitest'
import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/index.js'

/** A sandbox that is closed after the test that asks for it, or after the file; without options, it is empty. */
export async function sandboxOfFile(options: SandboxOptions = { data: 'none' }): Promise<Sandbox> {
  const after = TestRunner.getCurrentTest() ? onTestFinished : afterAll
  const sandbox = await createSandbox(options)
  after(() => sandbox.close())
  return sandbox
}
