import { type AdminChange, type Client, type IdentityDeletions, type InstanceInfo } from '@gatehouse/client'
import { isAborted, RateLimited } from '@gatehouse/client'
import { useStore } from '@gatehouse/client/react'
import { createContext, use, useCallback, useEffect, useRef, useState } from 'react'

/** What the components take from outside. */
export type AppContext = {
  client: Client
  now: () => number
  /** From 0 up to, not including, 1. */
  random: () => number
}

export const AppContext = createContext<AppContext | null>(null)

export function useAppContext(): AppContext {
  const context = use(AppContext)
  if (!context) throw new Error('AppContext has no value')
  return context
}

export function useClient(): Client {
  return useAppContext().client
}

export { useStore }

type DeletionReport = readonly [IdentityDeletions | null, (report: IdentityDeletions | null) => void]

/** The login page shows it: the session's stores are cleared by then. */
export const DeletionReportContext = createContext<DeletionReport>([null, () => {}])

export function useDeletionReport(): DeletionReport {
  return use(DeletionReportContext)
}

type BlockedCodes = { userId: string; at: number } | null

/** Pages come and go; what somebody must read stays. */
export const BlockedCodesContext = createContext<readonly [BlockedCodes, (blocked: BlockedCodes) => void]>([
  null,
  () => {},
])

export const ToastContext = createContext<(message: string) => void>(() => {})

/** For success only: errors are shown where they occur. */
export function useToast(): (message: string) => void {
  return use(ToastContext)
}

/** True from the loss of the live connection until it is there again. */
export function useConnectionLost(): boolean {
  const { phase } = useStore(useClient().live)
  const [isLost, setLost] = useState(false)
  useEffect(() => {
    if (phase !== 'connecting') setLost(phase === 'waiting')
  }, [phase])
  return isLost
}

const kept = new Map<string, unknown>()

/** Whether the session was ended, and not by the user here. */
export function isEnded(client: Client): boolean {
  const { ended } = client.session.getSnapshot()
  return ended !== null && ended.reason !== 'logged_out'
}

/** State that the end of a session does not drop: the next login finds it under the same `key`. Null: usual state. */
export function useKeptState<T>(key: string | null, initial: T) {
  const client = useClient()
  const state = useState<T>(() => (key !== null && kept.has(key) ? (kept.get(key) as T) : initial))
  const latest = useRef(initial)
  latest.current = state[0]
  useEffect(() => {
    if (key === null) return
    kept.delete(key)
    return () => void (isEnded(client) && kept.set(key, latest.current))
  }, [])
  return state
}

/** What became of the entries in a dialog that was open when the session ended. */
export const openEntries: { outcome: 'kept' | 'lost' | null } = { outcome: null }

const toError = (failure: unknown) => (failure instanceof Error ? failure : new Error(String(failure)))

type Fetched<T> = { data: T | null; error: Error | null; loading: boolean }

export type Query<T> = Fetched<T> & {
  refetch: () => void
  setData: (data: T) => void
  /** Replaces the request under way. */
  load: (fetchData: (signal: AbortSignal) => Promise<T>) => void
}

type Watched = AdminChange['what'] | 'any'

/** Fetches again when `key` changes or an admin changes what is `watched`. Contract: 6, watch. */
export function useQuery<T>(key: string, fetchData: (signal: AbortSignal) => Promise<T>, watched?: Watched): Query<T> {
  const [fetched, setFetched] = useState<Fetched<T>>({ data: null, error: null, loading: true })
  const [refetches, setRefetches] = useState(0)
  const current = useRef<AbortController>(null)
  const change = (changed: Partial<Fetched<T>>) => setFetched((before) => ({ ...before, ...changed }))

  const load: Query<T>['load'] = (work) => {
    current.current?.abort()
    const { signal } = (current.current = new AbortController())
    change({ loading: true })
    work(signal).then(
      (data) => {
        if (!signal.aborted) change({ data, error: null, loading: false })
      },
      (failure: unknown) => {
        if (!signal.aborted && !isAborted(failure)) change({ error: toError(failure), loading: false })
      },
    )
  }
  useEffect(() => {
    load(fetchData)
    return () => current.current?.abort()
    // The key stands for everything that `fetchData` closes over.
  }, [key, refetches])

  const refetch = useCallback(() => setRefetches((count) => count + 1), [])
  useAdminChanges(watched, refetch)
  return { ...fetched, refetch, setData: (data) => change({ data }), load }
}

const gatherMs = 250

/** Several changes at once cause one fetch. */
function useAdminChanges(watched: Watched | undefined, refetch: () => void): void {
  const { live } = useClient()
  useEffect(() => {
    if (!watched) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const end = live.watchAdmin((change) => {
      if (change && watched !== 'any' && change.what !== watched) return
      timer ??= setTimeout(() => {
        timer = undefined
        refetch()
      }, gatherMs)
    })
    return () => {
      end()
      clearTimeout(timer)
    }
  }, [live, watched, refetch])
}

type Page<T> = { items: T[]; nextCursor: string | null }
type FetchPage<T> = (query: { cursor?: string }, signal: AbortSignal) => Promise<Page<T>>

/** Fetches page by page. Where `useQuery` fetches again, it starts at the first page. */
export function usePages<T>(key: string, fetchPage: FetchPage<T>, watched?: Watched) {
  const query = useQuery<Page<T> & { key: string }>(
    key,
    async (signal) => ({ key, ...(await fetchPage({}, signal)) }),
    watched,
  )
  const pages = query.data?.key === key ? query.data : null
  const cursor = pages?.nextCursor
  const addPage = async (signal: AbortSignal) => {
    const page = await fetchPage(cursor ? { cursor } : {}, signal)
    return { ...page, key, items: [...(pages?.items ?? []), ...page.items] }
  }
  /** `items`: null before the first page. `fetchNextPage`: null after the last one. */
  return { ...query, items: pages?.items ?? null, fetchNextPage: cursor ? () => query.load(addPage) : null }
}

let cached: InstanceInfo | null = null
const infoListeners = new Set<() => void>()

/** After a change of the settings: titles and the logo follow. */
export const refetchInstanceInfo = (): void => infoListeners.forEach((refetch) => refetch())

let running: Promise<InstanceInfo> | null = null

/** Cached between pages. `settled`: answered or failed. */
export function useInstanceInfo(): { info: InstanceInfo | null; settled: boolean } {
  const client = useClient()
  const query = useQuery('instance', async () => {
    running ??= client.call('instanceInfo').finally(() => (running = null))
    return (cached = await running)
  })
  const { refetch } = query
  useEffect(() => {
    infoListeners.add(refetch)
    return () => void infoListeners.delete(refetch)
  }, [refetch])
  return { info: query.data ?? cached, settled: !query.loading }
}

export type Mutation = {
  busy: boolean
  /** Of the last run. A rate limit sets `waitSeconds` instead. */
  error: Error | null
  /** Until the rate limit allows another attempt, else 0. */
  waitSeconds: number
  /** Resolves to whether it succeeded, and says `done` then. Unmounting aborts it without an error. */
  run(work: (signal: AbortSignal) => Promise<unknown>, done?: string): Promise<boolean>
  clear(): void
}

export function useMutation(): Mutation {
  const client = useClient()
  const showToast = useToast()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const [countdown] = useState(() => client.createCountdown())
  const waitSeconds = useStore(countdown)
  const current = useRef<AbortController>(null)
  useEffect(
    () => () => {
      current.current?.abort()
      countdown.stop()
    },
    [countdown],
  )

  const run: Mutation['run'] = async (work, done) => {
    if (current.current || waitSeconds > 0) return false
    const { signal } = (current.current = new AbortController())
    setBusy(true)
    setError(null)
    try {
      await work(signal)
      if (done) showToast(done)
      return true
    } catch (failure) {
      if (failure instanceof RateLimited) countdown.start(failure.retryAfter)
      else if (!isAborted(failure)) setError(toError(failure))
      return false
    } finally {
      current.current = null
      setBusy(false)
    }
  }
  return { busy, error, waitSeconds, run, clear: () => setError(null) }
}

export type ImageFile = { blob: Blob | null; src: string | null; set: (blob: Blob | null) => void }

/** `key`: as in `useKeptState`. */
export function useImageFile(key: string | null = null): ImageFile {
  const [blob, set] = useKeptState<Blob | null>(key, null)
  const [src, setSrc] = useState<string | null>(null)
  useEffect(() => {
    const url = blob && URL.createObjectURL(blob)
    setSrc(url)
    return () => {
      if (url) URL.revokeObjectURL(url)
    }
  }, [blob])
  return { blob, src, set }
}
