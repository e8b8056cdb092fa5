import { Stop } from '../../errors.js'
import type { Command } from '../command.js'

export const sandboxCommand: Command = {
  name: 'sandbox',
  summary: 'a local server of the whole API with generated data',
  help: `
Prints its address, its credentials and a configuration to sync from it; runs until it is stopped (Ctrl-C).
Faults and motion are scripted by a JSON file: see docs/sandbox.md.`,
  options: [
    { flags: '--port <n>', description: 'port to listen on, 0 for a free one (default: 8080)' },
    { flags: '--tenants <n>', description: 'how many repair businesses (default: 3)' },
    { flags: '--seed <n>', description: 'the same seed gives the same data (default: 1)' },
    { flags: '--live', description: 'the shops go on working while it runs' },
    { flags: '--faults <file>', description: 'script of faults and motion' },
  ],
  run: async ({ options, out, signals }) => {
    const port = whole('--port', options.port, [0, 65_535], 8080)
    const tenants = whole('--tenants', options.tenants, [1, 1000], 3)
    const seed = whole('--seed', options.seed, [0, 4_294_967_295], 1)
    const faultsFile = typeof options.faults === 'string' ? options.faults : undefined
    const { readScript, runSandbox } = await import('../../sandbox/main.js')
    if (faultsFile !== undefined) checked(() => readScript(faultsFile))
    signals.expected = true
    try {
      await runSandbox({
        ...(port !== undefined && { port }),
        ...(tenants !== undefined && { tenants }),
        ...(seed !== undefined && { seed }),
        ...(faultsFile !== undefined && { faultsFile }),
        live: options.live === true,
        signal: signals.signal,
        print: (line) => out.result(line),
      })
    } catch (error) {
      throw portTaken(error, port ?? 8080)
    }
    return 0
  },
}

type Range = readonly [from: number, to: number]

function whole(flag: string, value: unknown, [from, to]: Range, example: number): number | undefined {
  if (value === undefined) return undefined
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
  if (number >= from && number <= to) return number
  throw new Stop(`Found ${flag} "${value}", expected a whole number from ${from} to ${to}`, {
    exitCode: 2,
    hint: `Type ${flag} ${example}`,
  })
}

function checked(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Stop(message.charAt(0).toUpperCase() + message.slice(1), {
      exitCode: 2,
      hint: 'docs/sandbox.md describes what such a file may say',
    })
  }
}

function portTaken(error: unknown, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error
  return new Stop(`Port ${port} ${code === 'EACCES' ? 'may not be used' : 'is in use by another program'}`, {
    exitCode: 3,
    hint: 'Type shopsync sandbox --port 0 for a free one',
    cause: error,
  })
}
