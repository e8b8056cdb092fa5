/*
 * Traces: a run, its cursors, their requests and stored pages as spans, through the API of OpenTelemetry alone. Without an
 * SDK that somebody has attached, a span is an empty object. docs/operations.md, Traces, says how to attach one.
 */
import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { Retry, Skip, Stop } from './errors.js'

/** Keys, names, counts and words of ours: nothing of a customer, and no text that somebody else wrote. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | undefined>>

/** Adds facts that are known at the end only; one named `error.type` makes the span a failed one. */
export type TellSpan = (facts: SpanFacts) => void

const tracer = trace.getTracer('shopsync')

/** Does the work within a span. What it throws shows by its class and code: a message may quote the source. */
export function inSpan<T>(
  name: 'run' | 'cursor' | 'request' | 'store',
  facts: SpanFacts,
  work: (tell: TellSpan) => Promise<T>,
): Promise<T> {
  const kind = name === 'request' ? SpanKind.CLIENT : SpanKind.INTERNAL
  return tracer.startActiveSpan(`shopsync.${name}`, { kind }, async (span) => {
    const tell: TellSpan = (more) => addFacts(span, more)
    try {
      tell(facts)
      return await work(tell)
    } catch (error) {
      tell({ 'error.type': codeOf(error) })
      throw error
    } finally {
      span.end()
    }
  })
}

function addFacts(span: Span, facts: SpanFacts): void {
  if (!span.isRecording()) return
  const failure = facts['error.type']
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: String(failure) })
  for (const [name, value] of Object.entries(facts)) if (value !== undefined) span.setAttribute(name, value)
}

function codeOf(error: unknown): string {
  if (error instanceof Stop || error instanceof Skip || error instanceof Retry)
    return error.details.code ?? error.name
  return error instanceof Error ? error.name : 'error'
}
