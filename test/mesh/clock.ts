/** From the moment `from` on, which is `at` in the mesh, its time runs `pace` times as fast. */
export type Pace = { from: number; at: number; pace: number }
export type MeshClock = { now(): number; current(): Pace; set(next: Pace): void }

const realNow = Date.now.bind(Date)

/** Time of the mesh: retries and syncs, minutes and quarters of hours, come within seconds. */
export function createMeshClock(first: Pace): MeshClock {
  let current = first
  return {
    now: () => Math.floor(current.at + (realNow() - current.from) * current.pace),
    current: () => current,
    set: (next) => void (current = next),
  }
}

export function startMeshClock(pace: number): MeshClock {
  return createMeshClock({ from: realNow(), at: realNow(), pace })
}

export function changePace(clock: MeshClock, pace: number): void {
  clock.set({ from: realNow(), at: clock.now(), pace })
}
