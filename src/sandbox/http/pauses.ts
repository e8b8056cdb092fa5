/** Waits that can all be ended together. Each has its own timer: thousands of listeners on one signal would be slow. */
export class Pauses {
  readonly #waiting = new Map<NodeJS.Timeout, (isOver: boolean) => void>()

  #isEnded = false

  /** false if the wait was ended before the time was up. */
  wait(ms: number): Promise<boolean> {
    if (this.#isEnded) return Promise.resolve(false)
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(timer)
        resolve(true)
      }, ms)
      this.#waiting.set(timer, resolve)
    })
  }

  /** Ends all waits, and all that begin later. */
  end(): void {
    this.#isEnded = true
    for (const [timer, resolve] of this.#waiting) {
      clearTimeout(timer)
      resolve(false)
    }
    this.#waiting.clear()
  }
}
