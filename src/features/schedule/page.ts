/*
 * The pages of the report as `shopsync schedule` serves them, each made in a thread of its own (src/pagethread.ts): to ask the
 * views and to draw takes seconds, in which the program could neither answer nor begin a job.
 */
import { Writable } from 'node:stream'
import { describeError } from '../../engine/base/errors.js'
import type { Feature, Globals } from '../../shell/command.js'
import { withContext } from '../../shell/commandcontext.js'
import type { Io } from '../../shell/io.js'
import { Output } from '../../shell/output.js'
import { stillSignals } from '../../shell/signals.js'
import { drawOperations, drawReport } from '../report/work.js'

/** What the thread answers: the page, or why there is none. */
export type PageAnswer = { readonly page: string } | { readonly error: string }

/** The owner's page, or the operator's. */
export type PageName = 'report' | 'operations'

/** What the page is of, as values that go to a thread. */
export interface PageCall {
  readonly page: PageName
  readonly globals: Globals
  readonly io: Pick<Io, 'environment' | 'workingDirectory' | 'started'>
}

/** A thread begins as the program does: it is given the list of features. */
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
    ...{ stdin: process.stdin, stdout: nowhere, stderr: process.stderr },
    // The program outside of the thread takes the signals, and ends the thread.
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
    return { error: describeError(error) }
  }
}
