import Router from '@koa/router'
import { createAccountStates, createCallerVerifier, type AccountStates } from '@gatehouse/auth'
import { limits } from '@gatehouse/contracts'
import { DatabaseUnavailable, readAccountStates } from '@gatehouse/database'
import { createQuota, startPeriodicTask, systemTimer, withTimeout, type Timer } from '@gatehouse/runtime'
import { startHttpService, type AppState, type RunningService } from '@gatehouse/service-kit'
import { AdminWatch, subscribeAdminChanges } from './admin-watch/admin-watch.ts'
import type { SessionGatewayConfig } from './config.ts'
import { EvictedSockets, OpenSockets } from './connection/open-sockets.ts'
import type { SessionSocket } from './connection/session-socket.ts'
import { createSocketTimeouts, stopSocketTimeouts } from './connection/socket-timeouts.ts'
import type { OperationContext, SessionGatewayResources } from './context.ts'
import { acceptSockets } from './handshake/accept-sockets.ts'
import { PeeringReader } from './handshake/peering-summary.ts'
import { createTokenReader } from './handshake/token-reader.ts'
import { createSessionMetrics } from './metrics.ts'
import { registerNode } from './nodes/session-node.ts'
import { timings, type Timings } from './policy.ts'
import type { Audience } from './presence/audience.ts'
import { maintainNodes } from './presence/maintain-nodes.ts'
import { PresenceFeed, subscribePresence } from './presence/presence-feed.ts'
import { PresenceReconciler } from './presence/presence-reconciler.ts'
import { subscribeProfileChanges } from './presence/profile-updates.ts'
import { PresenceWatch } from './presence/presence-watch.ts'
import { createPresenceStore } from './presence/presence-store.ts'
import { RemotePresences } from './presence/remote-presences.ts'
import { sendChanges, type VisibleChange } from './presence/send-changes.ts'
import { addSocketRoutes } from './routes/sockets.ts'
import { addUpstreamRoutes } from './routes/upstreams.ts'
import { closeExpiredSessions, subscribeSessionEndings, sweepSessions } from './sessions/end-sessions.ts'
import { subscribeSecurityNotices } from './sessions/security-notices.ts'
import { SessionRegistry } from './sessions/session-registry.ts'
import { openSocketLists } from './sessions/socket-lists.ts'
import { createUpstreams, startUpstreams } from './upstreams/start-upstreams.ts'
import { UpstreamAudience, UpstreamPresences } from './presence/upstream-audience.ts'

export { readConfig, type SessionGatewayConfig } from './config.ts'
export { type SessionGatewayResources } from './context.ts'
export { type Timings } from './policy.ts'

export type SessionGatewayOverrides = { timings?: Partial<Timings>; timer?: Timer; accountStates?: AccountStates }

export async function startSessionGateway(
  config: SessionGatewayConfig,
  resources: SessionGatewayResources,
  overrides: SessionGatewayOverrides = {},
): Promise<RunningService> {
  await using opening = new AsyncDisposableStack()
  const openSockets = new OpenSockets()
  const router = new Router<AppState>({ sensitive: true })
  const service = {
    ...config,
    name: 'session-gateway',
    portVariable: 'SESSION_GATEWAY_PORT',
    routers: [router],
    readiness: {
      accepting: () => openSockets.accepting,
      // The node exists once sockets are accepted.
      heartbeat: () => openSockets.accepting && deps.node.isFresh(),
    },
    upgrades: true,
    // A refused connection lets the gateway try another node.
    announceDrain: false,
  }
  const http = opening.use(await startHttpService(service, resources))
  const deps = await openDeps(opening, { config, resources, overrides, openSockets })
  addSocketRoutes(router, { socketLists: opening.use(await openSocketLists(deps)) })
  addUpstreamRoutes(router, deps)
  opening.use(await maintainNodes(deps, config.onlyNode ?? false))
  const onDeleted = (userId: string, audience: readonly string[]) => deps.feed.sendDeletion(userId, audience)
  opening.use(await subscribeSessionEndings({ ...deps, onDeleted }))
  opening.use(await subscribeAdminChanges(deps))
  opening.use(await subscribeSecurityNotices(deps))
  opening.use(await subscribeProfileChanges(deps))
  const sweep = { name: 'session sweep', everyMs: deps.timings.sweepMs, log: deps.log, timer: deps.timer }
  opening.use(startPeriodicTask(sweep, () => sweepSessions(deps)))
  const expiry = { name: 'session expiry', everyMs: deps.timings.expiryMs, log: deps.log, timer: deps.timer }
  opening.use(
    startPeriodicTask(expiry, async () => {
      closeExpiredSessions(deps)
      deps.feed.expireReports()
    }),
  )
  opening.use(await startUpstreams(deps, config.upstreamsFile))
  const sockets = acceptSockets(deps, http.server)
  // Both at once: the server takes no new socket while the open ones close.
  opening.defer(async () => {
    await Promise.all([sockets[Symbol.asyncDispose](), http[Symbol.asyncDispose]()])
  })
  opening.use(deps.evicted)
  const open = opening.move()
  return { ...http, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

type Opening = {
  config: SessionGatewayConfig
  resources: SessionGatewayResources
  overrides: SessionGatewayOverrides
  openSockets: OpenSockets
}

/** `opening` closes what this opens. */
async function openDeps(opening: AsyncDisposableStack, given: Opening) {
  const { config, resources, overrides, openSockets } = given
  const { bus } = resources
  const sessions = new SessionRegistry()
  const quota = createQuota(limits.unauthenticatedSocketsPerAddress)
  const sessionMetrics = createSessionMetrics(resources.metrics, {
    authenticated: () => sessions.countReady(),
    unauthenticated: () => quota.total(),
  })
  const timer = overrides.timer ?? systemTimer
  const times = { ...timings, ...overrides.timings }
  const context: OperationContext = {
    ...resources,
    timer,
    timings: times,
    sessionMetrics,
    accountStates: overrides.accountStates ?? createAccountReads(resources, times),
  }
  const upstreams = createUpstreams(context)
  const adminWatch = new AdminWatch(context)
  const presence = await openPresence(opening, context, {
    ...upstreams,
    sessions,
    onReRegistered: () => evicted.close(),
  })
  const onReleased = (socket: SessionSocket) => {
    upstreams.forwarder.drop(socket)
    adminWatch.drop(socket)
    const user = sessions.remove(socket)
    if (user) presence.presence.userDisconnected(user)
  }
  const timeouts = createSocketTimeouts({ ...context, onReleased })
  opening.defer(() => stopSocketTimeouts(timeouts))
  const evicted = new EvictedSockets({ ...context, timeouts, onReleased, openSockets })
  const tokens = createTokenReader(context)
  const verifyCaller = createCallerVerifier(config.callerKeys, 'session-gateway')
  const peering = new PeeringReader(context)
  const closing = { timeouts, onReleased, openSockets, evicted }
  return {
    ...context,
    ...closing,
    ...presence,
    ...upstreams,
    bus,
    tokens,
    verifyCaller,
    sessions,
    quota,
    adminWatch,
    peering,
  }
}

/** A read that hangs is left, and the next one takes another connection. */
function createAccountReads({ orm }: SessionGatewayResources, { accountReadMs }: Timings): AccountStates {
  const late = () => new DatabaseUnavailable('accounts could not be read in time')
  return createAccountStates({
    load: async (userIds) => ({
      states: await withTimeout(readAccountStates(orm.em.fork(), userIds), accountReadMs, late),
    }),
  })
}

type PresenceOpening = Pick<ReturnType<typeof createUpstreams>, 'upstreams' | 'questions'> & {
  sessions: SessionRegistry
  onReRegistered(): void
}

async function openPresence(opening: AsyncDisposableStack, context: OperationContext, given: PresenceOpening) {
  const node = await registerNode(context)
  const remotePresences = new RemotePresences()
  const presenceStore = createPresenceStore(context)
  const common = { ...context, ...given, node, remotePresences, presenceStore }
  const toUpstreams = (changes: readonly VisibleChange[], audience: Audience) => sendChanges(common, changes, audience)
  const upstreamAudience = opening.use(new UpstreamAudience(common, toUpstreams))
  const upstreamPresences = new UpstreamPresences(common)
  const feed = opening.use(new PresenceFeed({ ...common, upstreamAudience }))
  await feed.open()
  opening.use(await subscribePresence(common, feed))
  const presence = opening.use(new PresenceReconciler({ ...common, store: presenceStore, feed }))
  const presenceWatch = new PresenceWatch({ ...common, store: presenceStore, upstreamPresences })
  return { node, feed, presence, presenceWatch, remotePresences, upstreamPresences }
}
