/*
 * The connections of a server that anyone may reach. No address can take them all: when the room is full, the address
 * with the most connections makes way. Used by `schedule`'s server and by the receiver of events.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { isIPv6, type Socket } from 'node:net'

interface Guest {
  readonly socket: Socket
  readonly address: string
  readonly isOwn: boolean
  /** Requests that aren't answered yet. */
  open: number
  isTrusted: boolean
  /** Its time is over. */
  isDue: boolean
  timer?: NodeJS.Timeout
}

const isOfThisMachine = (address: string): boolean => /^(?:127\.|::1$)/.test(address)

/** A sender that is just about to use a connection would get no answer. */
const graceMs = 1000

/** What counts as one address: of IPv6, a network of 64 bits, since its owner has all the addresses in it. */
function shareOf(address: string): string {
  if (!isIPv6(address) || isOfThisMachine(address)) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':').filter((group) => group !== '')
  const zeros = tail === undefined ? 0 : Math.max(0, 4 - groups.length)
  return [...groups, ...Array.from({ length: zeros }, () => '0')].slice(0, 4).join(':')
}

/** Names a connection: with TLS, a request's socket is another object than the one that was accepted. */
const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`

/**
 * Of the address with the most connections, the oldest leaves, preferably one without an open request. An open request
 * is cut off only if its address has more connections than the newcomer's. undefined: the newcomer has to leave.
 * `guests`: in the order of their arrival.
 */
export function whoLeaves(guests: readonly Guest[], newcomer: Guest): Guest | undefined {
  const held = new Map([[newcomer.address, 1]])
  const untrusted = guests.filter(({ isTrusted }) => !isTrusted)
  for (const { address } of untrusted) held.set(address, (held.get(address) ?? 0) + 1)
  const heldBy = ({ address }: Guest): number => held.get(address) ?? 0
  const [first] = untrusted.toSorted(
    (a, b) => heldBy(b) - heldBy(a) || Number(a.open > 0) - Number(b.open > 0),
  )
  return first && first.open > 0 && heldBy(first) <= heldBy(newcomer) ? undefined : first
}

/** The connections of a server. Takes effect when it is made. */
export class ConnectionRoom {
  readonly #guests = new Map<string, Guest>()

  constructor(
    server: Server,
    private readonly size: {
      /** Each connection takes a file descriptor, and without one a job can't open the warehouse. */
      readonly most: number
      /** How many of these are reserved for this machine: its probes must reach `/health`. */
      readonly own: number
      /** For how many milliseconds a connection may stay that isn't trusted; undefined: it isn't limited here. */
      readonly untrustedMs?: number
    },
  ) {
    server.on('connection', (socket: Socket) => this.#enter(socket))
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#answering(request.socket, response),
    )
  }

  /** Its sender has shown that it belongs here: from now on, the connection makes way for nobody. */
  trust(socket: Socket): void {
    const guest = this.#guests.get(nameOf(socket))
    if (guest) guest.isTrusted = true
  }

  #enter(socket: Socket): void {
    const { size } = this
    // A connection that was closed again meanwhile has no address.
    const remote = (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    const isOwn = isOfThisMachine(remote)
    const guest: Guest = { socket, address: shareOf(remote), isOwn, open: 0, isTrusted: false, isDue: false }
    if (!this.#hasRoom(guest)) {
      socket.destroy()
      return
    }
    const name = nameOf(socket)
    this.#guests.set(name, guest)
    if (size.untrustedMs !== undefined) guest.timer = setTimeout(() => this.#due(guest), size.untrustedMs)
    socket.once('close', () => {
      clearTimeout(guest.timer)
      if (this.#guests.get(name) === guest) this.#guests.delete(name)
    })
  }

  /** Whether there is room for it now. Another one may have had to go. */
  #hasRoom(guest: Guest): boolean {
    const { most, own } = this.size
    const others = [...this.#guests.values()].filter(({ isOwn }) => !isOwn)
    if (!guest.isOwn && others.length >= most - own) return this.#makeRoom(others, guest)
    return this.#guests.size < most || this.#makeRoom([...this.#guests.values()], guest)
  }

  #makeRoom(guests: readonly Guest[], newcomer: Guest): boolean {
    const leaving = whoLeaves(guests, newcomer)
    if (leaving) this.#leave(leaving)
    return leaving !== undefined
  }

  #leave(guest: Guest): void {
    for (const [name, { socket }] of this.#guests) if (socket === guest.socket) this.#guests.delete(name)
    guest.socket.destroy()
  }

  /** It ends with its next answer. If no request comes soon, it ends without one. */
  #due(guest: Guest): void {
    guest.isDue = true
    if (!guest.isTrusted && guest.open === 0)
      guest.timer = setTimeout(() => {
        if (!guest.isTrusted && guest.open === 0) guest.socket.destroy()
      }, graceMs)
  }

  #answering(socket: Socket, response: ServerResponse): void {
    const guest = this.#guests.get(nameOf(socket))
    if (!guest) return
    guest.open += 1
    if (guest.isDue && !guest.isTrusted) response.shouldKeepAlive = false
    response.once('close', () => {
      guest.open -= 1
      if (guest.isDue) this.#due(guest)
    })
  }
}
