/*
 * What one call of the program has of the world around it, as values. entry.ts takes them from the process; whoever calls
 * main otherwise, gives others.
 */
import type { Readable, Writable } from 'node:stream'
import type { Environment } from '../engine/config/expand.js'

/** The signals that people, schedulers and systemd end a program with. */
export type SignalName = 'SIGINT' | 'SIGTERM'

/** A stream that may be a terminal, as node:tty's are. */
export type MaybeTerminal<S> = S & { readonly isTTY?: boolean; readonly columns?: number }

export interface Io {
  readonly environment: Environment
  /** Relative paths begin here. */
  readonly workingDirectory: string
  readonly stdin: MaybeTerminal<Readable>
  readonly stdout: MaybeTerminal<Writable>
  readonly stderr: MaybeTerminal<Writable>
  /** Calls the listener at each signal, until what it returns is called. */
  onSignal(listener: (name: SignalName) => void): () => void
  /** At its prompt a terminal gives Ctrl-C to the program as a key: this makes it the signal that it is elsewhere. */
  interrupt(): void
  /** Ends everything at once, whatever is under way. */
  exit(exitCode: number): void
  /** How the program was started: Node, and the file. */
  readonly started: { readonly node: string; readonly program: string }
  /** Has the memory collected when it has grown by so many percent. */
  collectAt(percent: number): void
}
