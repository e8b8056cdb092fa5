/*
 * Everything that one call of the program gets from its environment, as values. entry.ts takes them from the process;
 * other callers of main pass others.
 */
import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../engine/config/expand.js'

/** The signals that people, schedulers and systemd end a program with. */
export type SignalName = 'SIGINT' | 'SIGTERM'

/** A stream that may be a terminal, as node:tty's are. */
export type MaybeTerminal<S> = S & {
  readonly isTTY?: boolean
  readonly columns?: number
  hasColors?(): boolean
}

export interface Io {
  readonly environment: Environment
  /** Relative paths start here. */
  readonly workingDirectory: string
  readonly stdin: MaybeTerminal<Readable>
  readonly stdout: MaybeTerminal<Writable>
  readonly stderr: MaybeTerminal<Writable>
  /** Calls the listener at each signal, until the returned function is called. */
  onSignal(listener: (name: SignalName) => void): () => void
  /** Errors that nothing has caught. Only of the whole process: a caller of `call` in another one handles its own. */
  onCrash?(listener: (error: unknown) => void): void
  /** At its prompt, a terminal passes Ctrl-C to the program as a key; this turns it back into a signal. */
  interrupt(): void
  /** Ends everything immediately, whatever is under way. */
  exit(exitCode: number): void
  /** How the program was started: Node, and the file. */
  readonly started: { readonly node: string; readonly program: string }
  /** Triggers garbage collection whenever the memory has grown by this many percent. */
  collectAt(percent: number): void
}
