import { createSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox/index.js'
import { closedAfterwards } from './afterwards.js'

/** A sandbox that is closed after the test that asks for it, or after the file; without options, it is empty. */
export async function sandboxOfFile(options: SandboxOptions = { data: 'none' }): Promise<Sandbox> {
  return closedAfterwards(await createSandbox(options))
}

/** Resolves when the next list of this resource has been asked for. */
export const nextRequest = (sandbox: Sandbox, wanted: string): Promise<void> =>
  new Promise((resolve) => {
    const off = sandbox.onRequest(({ resource }) => {
      if (resource !== wanted) return
      off()
      resolve()
    })
  })

/** From now on, no list of this resource is answered. Resolves when the next one has been asked for. */
export function stall(sandbox: Sandbox, resource: string): Promise<void> {
  sandbox.script([{ when: { resource }, fault: { kind: 'stall', ms: 600_000, part: 'headers' } }])
  return nextRequest(sandbox, resource)
}
