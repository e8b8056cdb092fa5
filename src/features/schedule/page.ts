/*
 * The report's pages as served by `shopsync schedule`, each made in its own thread (src/pagethread.ts): querying the
 * views and drawing take seconds, during which the program could neither answer nor start a job.
 */
import { Writable } from 'node:stream'
import { describeError, isExpected } from '../../engine/base/errors.js'
import type { Feature, Globals } from '../../shell/command.js'
import { withContext } from '../../shell/commandcontext.js'
import type { Io } from '../../shell/io.js'
import { Output } from '../../shell/output.js'
import { stillSignals } from '../../shell/signals.js'
import { drawOperations, drawReport } from '../report/work.js'

/** The thread's answer: the page, or why there is none. */
export type PageAnswer = { readonly page: string } | { readonly error: string }

/** What the page is about, as values that can be passed to a thread. */
export interface PageCall {
  /** The owner's page, or the operator's. */
  readonly page: 'report' | 'operations'
  readonly globals: Globals
  readonly io: Pick<Io, 'environment' | 'workingDirectory' | 'started'>
}

/** A thread starts like the program: it is given the list of features. */
export async function makePage(
  features: readonly Feature[],
  { page, globals, io: given }: PageCall,
): Promise<PageAnswer> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const out = new Output({ json: false, quiet: true, stdout: nowhere, stderr: process.stderr })
  const rest = { argument: undefined, second: undefined, options: {} }
  const signals = stillSignals(new AbortController().signal)
  const io: Io = {
    ...given,
    stdin: process.stdin,
    stdout: nowhere,
    stderr: process.stderr,
    // The program outside the thread handles signals, and ends the thread.
    onSignal: () => () => {},
    interrupt: () => {},
    exit: () => {},
    collectAt: () => {},
  }
  try {
    return await withContext(
      { features, command: 'schedule', globals, ...rest, out, signals, io },
      async (context) => {
        const { tenants } = context.choice
        const drawn =
          page === 'report'
            ? await drawReport(context, tenants)
            : await drawOperations(context, tenants, { isServed: true })
        return { page: drawn.text }
      },
    )
  } catch (error) {
    if (!isExpected(error)) throw error
    return { error: describeError(error) }
  }
}
