/*
 * The receiver as it runs in its thread (src/receiverthread.ts): neither pages nor garbage collection of a run delay an
 * answer.
 */
import { performance } from 'node:perf_hooks'
import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../../engine/base/clock.js'
import { describeError, isExpected, Stop, wordsOf } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import { openDialect } from '../../engine/warehouse/openwarehouse.js'
import { answerWithin } from '../../shell/intime.js'
import { listenProblem, urlOf } from '../../shell/listenproblem.js'
import { Certificate, readPem } from './certificate.js'
import { acceptRanges, EventCounts } from './counts.js'
import { HttpReceiver } from './httpreceiver.js'
import { Inbox } from './inbox.js'
import { Intake, Unwritable } from './intake.js'
import { isDocumented, judge } from './judge.js'
import { Presence, type Troubled } from './presence.js'
import { SecretCheck } from './secretcheck.js'
import type { FromThread, ReceiverCall, SyncedNow, ToThread } from './threadmessages.js'
import { understand } from './understand.js'

/** Milliseconds between two requests about unknown tenants. */
const betweenQuestions = 600_000
/** Milliseconds between two checks of the certificate's files. */
const betweenLooks = 5000
/** How many milliseconds before a certificate expires the log warns. */
const certificateWarning = 14 * 86_400_000
/** For how many milliseconds `/ready` doesn't write again. */
const readyFor = 1000

/** Runs until the program tells it to end. Problems are reported through the port. */
export async function receive(call: ReceiverCall, port: MessagePort): Promise<void> {
  const say = (message: FromThread): void => port.postMessage(message)
  try {
    const receiver = await Receiver.open(call, say)
    port.on('message', (message: ToThread) => {
      if (message.kind === 'open') receiver.begin().catch((error) => say(failureOf(error, call)))
      else if (message.kind === 'synced') receiver.synced = message.synced
      else if (message.kind === 'turns') receiver.turnsFail = message.isFailing
      else void receiver.close().finally(() => say({ kind: 'closed' }))
    })
  } catch (error) {
    say(failureOf(error, call))
  }
}

/** A fault of ours is thrown: it ends the thread, which the program notices. */
function failureOf(error: unknown, call: ReceiverCall): FromThread {
  const problem = listenProblem(error, call)
  if (problem !== undefined)
    return {
      kind: 'failed',
      message: problem,
      exitCode: 3,
      hint: 'Type another port: --port 8786, or set "events": {"port": 8786} in the configuration',
    }
  if (!isExpected(error)) throw error
  const { message, hint } = wordsOf(error)
  return { kind: 'failed', message, hint, exitCode: error instanceof Stop ? error.exitCode : 1 }
}

class Receiver {
  readonly #counts = new EventCounts()
  readonly #ended = new AbortController()
  /** undefined until the inbox is open: bringing an earlier version's up to date may take a while. */
  #store: { readonly inbox: Inbox; readonly intake: Intake; readonly presence: Presence } | undefined
  readonly #secrets: SecretCheck
  readonly #http: HttpReceiver
  readonly #log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void
  synced: SyncedNow
  turnsFail = false
  #port = 0
  #askedAt = Number.NEGATIVE_INFINITY
  #ready: { at: number; answer: Promise<unknown> } | undefined
  #toldCertificate = ''

  private constructor(
    private readonly call: ReceiverCall,
    private readonly say: (message: FromThread) => void,
    private readonly dialect: Dialect,
    private readonly certificate: Certificate | undefined,
  ) {
    this.synced = call.synced
    this.#log = (level, message, fields = {}) => say({ kind: 'log', level, message, fields })
    this.#secrets = new SecretCheck(call.secretDigests, Date.now, (fields) =>
      this.#log('warn', 'Events with a wrong secret were refused', fields),
    )
    this.#http = new HttpReceiver(this.#behind(), certificate?.pem)
  }

  static async open(call: ReceiverCall, say: (message: FromThread) => void): Promise<Receiver> {
    const certificate = call.tls && new Certificate(call.tls, readPem(call.tls))
    const dialect = await openDialect(call.place)
    try {
      const receiver = new Receiver(call, say, dialect, certificate)
      receiver.#port = await receiver.#http.listen(call.host, call.port)
      say({ kind: 'bound' })
      return receiver
    } catch (error) {
      await dialect.close()
      throw error
    }
  }

  async begin(): Promise<void> {
    const { call } = this
    const inbox = await Inbox.open({ dialect: this.dialect })
    const intake = new Intake(inbox, this.#counts, (error) => this.#wrote(error))
    const presence = new Presence(inbox, intake, systemClock, () => this.#troubled)
    this.#store = { inbox, intake, presence }
    const url = `${urlOf(call.tls ? 'https' : 'http', call.host, this.#port)}${call.path}`
    await presence.begin({ ...call, address: url })
    void presence.beat(call.listenerId, this.#ended.signal)
    this.#lookAtCertificate()
    void this.#watchCertificate()
    this.say({ kind: 'listening', url })
  }

  async close(): Promise<void> {
    this.#ended.abort()
    await this.#http.close()
    await this.#store?.intake.drain()
    await this.#store?.presence.end(this.call.listenerId).catch(() => {})
    await this.#store?.inbox.close()
    await this.dialect.close()
  }

  #behind() {
    const { call } = this
    const receiver = this
    return {
      path: call.path,
      maxBodyBytes: call.maxBodyBytes,
      isSecretRight: (given: string | undefined) => this.#secrets.isRight(given),
      get refusing() {
        return receiver.#store ? receiver.#store.presence.refusing : 'database'
      },
      take: (body: Buffer) => this.#take(body),
      ready: () => this.#isReady(),
      refused: (answer: string) => this.#counts.add('received', { type: '', action: '', answer }),
    }
  }

  async #take(body: Buffer): Promise<boolean> {
    const began = performance.now()
    const event = understand(body)
    const { rows, judgement } = judge(event, this.call, this.synced, fromMicros(systemClock.nowMicros()))
    if (!this.#store) throw new Unwritable('The inbox is not open yet')
    const earlier = rows.length > 0 ? await this.#store.intake.store(rows) : 0
    // The tenant was forgotten after this thread was last told who is.
    const isForgotten = earlier === undefined
    const answer = isForgotten ? 'forgotten' : earlier > 0 ? 'double' : judgement
    const kind = isDocumented(this.call, event)
      ? { type: event.type, action: event.action }
      : { type: 'other', action: 'other' }
    this.#counts.add('received', { ...kind, answer })
    this.#counts.observe('accept_seconds', (performance.now() - began) / 1000, acceptRanges)
    if (judgement === 'stored' && !isForgotten) this.say({ kind: 'received' })
    if (judgement === 'unknown_tenant') this.#askWho()
    return rows.length > 0 && !isForgotten
  }

  #askWho(): void {
    if (Date.now() - this.#askedAt < betweenQuestions) return
    this.#askedAt = Date.now()
    this.say({ kind: 'unknownTenant' })
  }

  #wrote(error: unknown): void {
    const before = this.#store?.presence.refusing
    this.#store?.presence.wrote(error)
    if (error !== undefined && before === undefined)
      this.#log('error', 'Events are refused: they cannot be stored', { error: describeError(error) })
    if (error === undefined && before === 'database') this.#log('info', 'Events are accepted again')
  }

  get #troubled(): Troubled | undefined {
    const { certificate } = this
    if (certificate && certificate.endsAt <= Date.now()) return 'certificate'
    if (this.#secrets.isWrong) return 'wrong_secret'
    return this.turnsFail ? 'turns' : undefined
  }

  /** Tries an insert, once a second at most, and waits for it as long as for an event. */
  async #isReady(): Promise<{ ready: boolean; trouble: string | null }> {
    if (!this.#store) return { ready: false, trouble: 'database' }
    const { presence } = this.#store
    if (!this.#ready || Date.now() - this.#ready.at > readyFor)
      this.#ready = { at: Date.now(), answer: presence.say(this.call.listenerId) }
    const late = new AbortController()
    await Promise.race([
      this.#ready.answer,
      systemClock.sleep(answerWithin, late.signal).then(() => this.#tooLate(late)),
    ])
    late.abort()
    const { refusing, trouble = null } = presence
    // The program ends; until then, nothing that is received here reaches the file that is there now.
    const isGone = this.dialect.file.isGone()
    return { ready: refusing === undefined && trouble !== 'certificate' && !isGone, trouble }
  }

  #tooLate({ signal }: AbortController): void {
    if (!signal.aborted) this.#wrote(new Error('The inbox has not answered'))
  }

  async #watchCertificate(): Promise<void> {
    const { certificate } = this
    while (certificate && !this.#ended.signal.aborted) {
      await systemClock.sleep(betweenLooks, this.#ended.signal)
      const pem = certificate.renewed()
      if (pem) {
        this.#http.renew(pem)
        this.#log('info', 'The certificate was reloaded')
      }
      this.#lookAtCertificate()
    }
  }

  /** Reports a problem with it once. */
  #lookAtCertificate(): void {
    const { certificate } = this
    if (!certificate) return
    const { problem, endsAt } = certificate
    const left = endsAt - Date.now()
    const ends = left <= 0 ? 'The certificate has expired' : 'The certificate expires within two weeks'
    const text = problem ?? (left < certificateWarning ? ends : '')
    if (text === this.#toldCertificate) return
    this.#toldCertificate = text
    if (text !== '')
      this.#log('warn', text, { ends_at: new Date(endsAt).toISOString(), file: this.call.tls?.cert })
  }
}
