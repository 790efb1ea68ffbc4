export type PasswordChange = {
  run<T>(change: () => Promise<T>): Promise<T>
  defer(action: () => void): boolean
}

/** The server revokes the old token early: refusals of it must wait. */
export function createPasswordChange(): PasswordChange {
  let running = 0
  let deferred: (() => void)[] = []
  const end = () => {
    running -= 1
    if (running > 0) return
    const actions = deferred
    deferred = []
    for (const action of actions) action()
  }
  return {
    run: async (change) => {
      running += 1
      try {
        return await change()
      } finally {
        end()
      }
    },
    defer: (action) => {
      if (running > 0) deferred.push(action)
      return running > 0
    },
  }
}
