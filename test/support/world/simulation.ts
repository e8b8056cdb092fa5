import { Budget, type RequestOutcome, type Ticket } from '../../../src/engine/source/rate/budget.js'
import { type RowQuestion, Siblings } from '../../../src/engine/source/rate/siblings.js'
import { randomFrom } from './random.js'
import { SharedRow } from './sharedrow.js'

export interface Scenario {
  /** Length of a window in ms, and its limit. */
  readonly window: number
  readonly limit: number
  /** Mean time from request to answer in ms; each varies by ±30 %. */
  readonly latency: number
  /** The share of the limit that others use, evenly spread at random. */
  readonly others: number
  readonly connections: number
  readonly reserve: number
  readonly windows: number
  /** The server's clock minus ours, in ms. */
  readonly skew: number
  readonly seed: number
  /** How the server rounds the end of a window that doesn't end on a whole second. */
  readonly rounding?: 'floor' | 'ceil'
  /** Windows start at multiples of their length, or this many ms later. */
  readonly phase?: number
  /** Our processes with the same limit, each with its own throttle; default 1. */
  readonly processes?: number
  /** The processes share windows by a row that takes so many ms to ask. Their clocks differ. */
  readonly shared?: number
  /** Kills the last process after that many windows. */
  readonly killedAfter?: number
  /** How many addresses the processes have, if the limit counts by address; default: it counts by partner. */
  readonly addresses?: number
}

export interface Tally {
  readonly refused: number
  /** Refused by windows after the first complete one. */
  readonly refusedLater: number
  readonly sentLater: number
  /** Mean and smallest share of the limit that was used by anyone. */
  readonly use: number
  readonly leastUse: number
  /** Like `use`, but of what could be used at most. */
  readonly useOfPossible: number
  readonly mostInflightUnknown: number
}

type Event = { at: number; run: () => void }

/** Events by time, the next one last. */
class Agenda {
  readonly #events: Event[] = []

  push(at: number, run: () => void): void {
    const events = this.#events
    let index = events.length
    while (index > 0 && events[index - 1]!.at <= at) index--
    events.splice(index, 0, { at, run })
  }

  pop(): Event | undefined {
    return this.#events.pop()
  }
}

/** A server with fixed windows, which counts a request when it arrives. */
class Windows {
  readonly used = new Map<number, number>()
  readonly ours = new Map<number, number>()
  readonly refused = new Map<number, number>()
  readonly scenario: Scenario
  /** By address; empty if the limit counts by partner. */
  readonly #counters: Map<number, number>[]

  constructor(scenario: Scenario) {
    this.scenario = scenario
    this.#counters = Array.from({ length: scenario.addresses ?? 0 }, () => new Map())
  }

  at(serverTime: number): number {
    return Math.floor((serverTime - (this.scenario.phase ?? 0)) / this.scenario.window)
  }

  take(serverTime: number, mine: boolean, address = 0): Pick<RequestOutcome, 'status' | 'rate' | 'date'> {
    const { window, limit, rounding = 'floor', phase = 0 } = this.scenario
    const index = this.at(serverTime)
    const counter = this.#counters[address] ?? this.used
    const used = counter.get(index) ?? 0
    const allowed = used < limit
    if (allowed) counter.set(index, used + 1)
    if (allowed && counter !== this.used) this.used.set(index, (this.used.get(index) ?? 0) + 1)
    if (mine) {
      this.ours.set(index, (this.ours.get(index) ?? 0) + 1)
      if (!allowed) this.refused.set(index, (this.refused.get(index) ?? 0) + 1)
    }
    const end = ((index + 1) * window + phase) / 1000
    return {
      status: allowed ? 200 : 429,
      date: Math.floor(serverTime / 1000) * 1000,
      rate: {
        key: this.#counters.length > 0 ? `10.0.0.${address}` : 'partner',
        limit,
        remaining: limit - (counter.get(index) ?? 0),
        reset: (rounding === 'floor' ? Math.floor(end) : Math.ceil(end)) * 1000,
      },
    }
  }
}

const START = 1_700_000_000_000

/** Gives one or several throttles endless work against one server, in virtual time. */
export function simulate(scenario: Scenario): Tally {
  const world = new World(scenario)
  const begin = START + world.random() * scenario.window
  const first = world.server.at(begin + scenario.skew)
  world.clock = begin
  if (scenario.others > 0) world.other()
  const clients = Array.from({ length: scenario.processes ?? 1 }, (_, i) => new Client(world, i))
  const { killedAfter, window } = scenario
  if (killedAfter !== undefined) world.agenda.push(begin + killedAfter * window, () => clients.at(-1)?.kill())
  for (const client of clients) world.agenda.push(begin + 500 * world.random(), () => client.pump())
  world.run(begin + (scenario.windows + 3) * scenario.window)
  return tally(
    scenario,
    world.server,
    first,
    Math.max(...clients.map((client) => client.mostInflightUnknown)),
  )
}

class World {
  readonly scenario: Scenario
  readonly random: () => number
  readonly server: Windows
  readonly agenda = new Agenda()
  readonly row = new SharedRow()
  clock = 0

  constructor(scenario: Scenario) {
    this.scenario = scenario
    this.random = randomFrom(scenario.seed)
    this.server = new Windows(scenario)
  }

  run(end: number): void {
    for (let event = this.agenda.pop(); event && event.at < end; event = this.agenda.pop()) {
      this.clock = event.at
      event.run()
    }
  }

  /** Sends the other clients' requests at random times. */
  other(): void {
    const { others, limit, window, skew } = this.scenario
    const wait = (-Math.log(1 - this.random()) * window) / (others * limit)
    this.agenda.push(this.clock + wait, () => {
      this.server.take(this.clock + skew, false)
      this.other()
    })
  }
}

class Client {
  readonly #world: World
  readonly #budget: Budget
  /** What this process's clock shows more than the others'. */
  readonly #ahead: number
  readonly #address: number
  #wakeAt = Number.POSITIVE_INFINITY
  #known = false
  #isKilled = false
  mostInflightUnknown = 0

  constructor(world: World, index: number) {
    this.#world = world
    const { connections, reserve, shared, addresses = 1 } = world.scenario
    this.#ahead = shared === undefined ? 0 : index * 1337
    this.#address = index % addresses
    const siblings = shared === undefined ? undefined : new Siblings('there')
    this.#budget = new Budget({ connections, reserve, random: world.random, siblings })
  }

  kill(): void {
    this.#isKilled = true
  }

  get #now(): number {
    return this.#world.clock + this.#ahead
  }

  pump(): void {
    while (!this.#isKilled) {
      const now = this.#now
      const decision = this.#budget.decide(now)
      if (decision.kind === 'send') this.#send(now)
      else {
        if (decision.kind === 'ask') this.#ask(decision.question)
        if (decision.kind === 'wait') this.#sleep(decision.at)
        return
      }
    }
  }

  #sleep(until: number): void {
    const at = Math.max(until - this.#ahead, this.#world.clock + 1)
    if (at === this.#wakeAt) return
    this.#wakeAt = at
    this.#world.agenda.push(at, () => this.#wake(at))
  }

  #wake(at: number): void {
    if (this.#wakeAt !== at) return
    this.#wakeAt = Number.POSITIVE_INFINITY
    this.pump()
  }

  #ask(question: RowQuestion): void {
    const { agenda, row, scenario, random } = this.#world
    const way = ((scenario.shared ?? 0) / 2) * (0.7 + 0.6 * random())
    this.#budget.asking(question, this.#now)
    agenda.push(this.#world.clock + way, () => {
      const answer = row.take(question.claim)
      agenda.push(this.#world.clock + way, () => {
        this.#budget.heard(question, answer, this.#now)
        this.pump()
      })
    })
  }

  #send(now: number): void {
    const { agenda, random, scenario, server } = this.#world
    const ticket: Ticket = this.#budget.send(now)
    if (!this.#known) this.mostInflightUnknown = Math.max(this.mostInflightUnknown, this.#budget.inflight)
    const latency = scenario.latency * (0.7 + 0.6 * random())
    const sentAt = this.#world.clock
    agenda.push(sentAt + latency * (0.3 + 0.4 * random()), () => {
      const answer = server.take(this.#world.clock + scenario.skew, true, this.#address)
      agenda.push(sentAt + latency, () => {
        if (this.#isKilled) return
        this.#known = true
        const receivedAt = this.#now
        this.#budget.settle(ticket, receivedAt, { ...answer, receivedAt, retryAfter: undefined })
        const question = scenario.shared === undefined ? undefined : this.#budget.inPassing(receivedAt)
        if (question) this.#ask(question)
        this.pump()
      })
    })
  }
}

/** The requests of a window that our connections, at this latency, and the other clients can send at most. */
export function sendable(scenario: Omit<Scenario, 'windows' | 'skew' | 'seed' | 'reserve'>): number {
  const { limit, processes = 1, connections, window, latency, others, addresses = 1 } = scenario
  return Math.min(limit * addresses, (processes * connections * window) / latency + others * limit)
}

function tally(scenario: Scenario, server: Windows, first: number, mostInflightUnknown: number): Tally {
  const possible = sendable(scenario)
  let use = 0
  let least = 1
  let sentLater = 0
  let refusedLater = 0
  for (let index = first + 2; index < first + 2 + scenario.windows; index++) {
    const used = server.used.get(index) ?? 0
    use += used
    least = Math.min(least, used / scenario.limit / (scenario.addresses ?? 1))
    sentLater += server.ours.get(index) ?? 0
    refusedLater += server.refused.get(index) ?? 0
  }
  const sum = (counts: Map<number, number>): number => [...counts.values()].reduce((a, b) => a + b, 0)
  return {
    refused: sum(server.refused),
    sentLater,
    refusedLater,
    use: use / scenario.windows / scenario.limit / (scenario.addresses ?? 1),
    leastUse: least,
    useOfPossible: use / scenario.windows / possible,
    mostInflightUnknown,
  }
}
