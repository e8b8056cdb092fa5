/*
 * The HTTP client. It parses answers in WebAssembly, and programs around it compile functions: whether this Node can is tried
 * before the first request, because undici itself would end the program with a stack. Whatever the reason is (a flag, a limit
 * on the address space, a hardened build), it is the attempt that fails.
 */
import { Stop } from '../../base/errors.js'

/** Missing under --jitless. */
const { WebAssembly: wasm } = globalThis as {
  readonly WebAssembly?: {
    readonly Module: new (bytes: Uint8Array) => object
    readonly Instance: new (module: object) => object
  }
}

/** A module with one memory of one page. */
const smallest = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 0, 1)

function attempt(work: () => unknown, found: string, hint: string): void {
  try {
    work()
  } catch (cause) {
    const told = cause instanceof Error ? cause.message : String(cause)
    throw new Stop(`This Node ${found} (${told}), which every request needs`, { exitCode: 3, hint, cause })
  }
}

/** Loaded late: `--help` shouldn't have to wait for it. Throws Stop if it can't work here. */
export async function loadUndici(): Promise<typeof import('undici')> {
  attempt(
    () => {
      if (!wasm) throw new ReferenceError('WebAssembly is not defined')
      return new wasm.Instance(new wasm.Module(smallest))
    },
    'cannot run WebAssembly',
    wasm
      ? 'Where the address space is limited (ulimit -v, LimitAS), type NODE_OPTIONS=--disable-wasm-trap-handler before the command'
      : 'Take the flag --jitless away from Node or NODE_OPTIONS',
  )
  attempt(
    () => new Function(''),
    'cannot compile functions',
    'Take the flag --disallow-code-generation-from-strings away from Node or NODE_OPTIONS',
  )
  return import('undici')
}
