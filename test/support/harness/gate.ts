/** Work that waits until a test lets it go on. */
export interface Gate {
  readonly passed: Promise<void>
  readonly open: () => void
}

export function gate(): Gate {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}
