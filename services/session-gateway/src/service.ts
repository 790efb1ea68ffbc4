import Router from '@koa/router'
import { createCallerVerifier } from '@gatehouse/auth'
import { type AccountStates, createAccountStates, readAccountStates } from '@gatehouse/authority'
import { limits } from '@gatehouse/contracts'
import { DatabaseUnavailable } from '@gatehouse/database'
import { createQuota, startPeriodicTask, systemTimer, withTimeout, type Timer } from '@gatehouse/runtime'
import { startHttpService, type AppState, type RunningService } from '@gatehouse/service-kit'
import { createAdminWatch, subscribeAdminChanges } from './admin-watch/admin-watch.ts'
import type { SessionGatewayConfig } from './config.ts'
import { OpenSockets, createEvictedSockets } from './connection/close-sockets.ts'
import type { SessionSocket } from './connection/session-socket.ts'
import { createSocketTimeouts } from './connection/socket-timeouts.ts'
import { createSessionMetrics, type OperationContext, type SessionGatewayResources } from './context.ts'
import { acceptSockets } from './handshake/accept-sockets.ts'
import { createPeeringReader, createTokenReader } from './handshake/handshake.ts'
import { registerNode, type SessionNode } from './nodes/session-node.ts'
import { timings, type Timings } from './policy.ts'
import { maintainNodes } from './presence/maintain-nodes.ts'
import { createRemotePresences, openPresenceFeed } from './presence/presence-feed.ts'
import { createPresenceReconciler } from './presence/presence-reconciler.ts'
import { createPresenceStore } from './presence/presence-store.ts'
import { createPresenceWatch } from './presence/presence-watch.ts'
import { subscribeProfileChanges } from './presence/profile-updates.ts'
import { sendChanges, type VisibleChange } from './presence/send-changes.ts'
import { createUpstreamAudience, createUpstreamPresences } from './presence/upstream-audience.ts'
import { addRoutes } from './routes/routes.ts'
import { closeExpiredSessions, subscribeSessionEndings, sweepSessions } from './sessions/end-sessions.ts'
import { subscribeSecurityNotices } from './sessions/security-notices.ts'
import { createSessionRegistry } from './sessions/session-registry.ts'
import { openSocketLists } from './sessions/socket-lists.ts'
import { createUpstreams, startUpstreams } from './upstreams/start-upstreams.ts'

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
  // It exists once sockets are accepted.
  let node = undefined as SessionNode | undefined
  const router = new Router<AppState>({ sensitive: true })
  const service = {
    ...config,
    name: 'session-gateway',
    portVariable: 'SESSION_GATEWAY_PORT',
    routers: [router],
    readiness: {
      accepting: () => openSockets.accepting,
      heartbeat: () => openSockets.accepting && node?.isFresh() === true,
    },
    upgrades: true,
    // A refused connection lets the gateway try another node.
    announceDrain: false,
  }
  const http = opening.use(await startHttpService(service, resources))
  const deps = await openDeps(opening, { config, resources, overrides, openSockets })
  const { feed, log, timer } = deps
  node = deps.node
  addRoutes(router, { ...deps, socketLists: opening.use(await openSocketLists(deps)) })
  opening.use(await maintainNodes(deps, config.onlyNode ?? false))
  opening.use(await subscribeSessionEndings(deps, feed.sendDeletion))
  opening.use(await subscribeAdminChanges(deps.bus, deps.adminWatch))
  opening.use(await subscribeSecurityNotices(deps))
  opening.use(await subscribeProfileChanges(deps))
  const sweep = { name: 'session sweep', everyMs: deps.timings.sweepMs, log, timer }
  opening.use(startPeriodicTask(sweep, () => sweepSessions(deps)))
  const expiry = { name: 'session expiry', everyMs: deps.timings.expiryMs, log, timer }
  opening.use(
    startPeriodicTask(expiry, async () => {
      closeExpiredSessions(deps)
      feed.expireReports()
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
async function openDeps(opening: AsyncDisposableStack, { config, resources, overrides, openSockets }: Opening) {
  const sessions = createSessionRegistry()
  const quota = createQuota(limits.unauthenticatedSocketsPerAddress)
  const times = { ...timings, ...overrides.timings }
  const context: OperationContext = {
    ...resources,
    timer: overrides.timer ?? systemTimer,
    timings: times,
    sessionMetrics: createSessionMetrics(resources.metrics, {
      authenticated: sessions.countReady,
      unauthenticated: quota.total,
    }),
    accountStates: overrides.accountStates ?? createAccountReads(resources, times),
  }
  const upstreams = createUpstreams(context)
  const adminWatch = createAdminWatch(context)
  const presence = await openPresence(opening, { ...upstreams, sessions })
  const onReleased = (socket: SessionSocket) => {
    upstreams.forwarder.drop(socket)
    adminWatch.drop(socket)
    const user = sessions.remove(socket)
    if (user) presence.presence.userDisconnected(user)
  }
  const timeouts = createSocketTimeouts({ ...context, onReleased })
  opening.defer(() => Object.values(timeouts).forEach((each) => each.stop()))
  const evicted = createEvictedSockets({ ...context, timeouts, onReleased, openSockets })
  presence.presence.onReRegistered(evicted.close)
  const tokens = createTokenReader(context)
  const verifyCaller = createCallerVerifier(config.callerKeys, 'session-gateway')
  const peering = createPeeringReader(context)
  const closing = { timeouts, onReleased, openSockets, evicted }
  return { ...upstreams, ...presence, ...closing, tokens, verifyCaller, sessions, quota, adminWatch, peering }
}

/** A read that hangs is left, and the next one takes another connection. */
function createAccountReads({ orm }: SessionGatewayResources, { accountReadMs }: Timings): AccountStates {
  const late = () => new DatabaseUnavailable('accounts could not be read in time')
  const read = (ids: readonly string[]) => withTimeout(readAccountStates(orm.em.fork(), ids), accountReadMs, late)
  return createAccountStates({ load: async (userIds) => ({ states: await read(userIds) }) })
}

async function openPresence(
  opening: AsyncDisposableStack,
  presenceDeps: Omit<Parameters<typeof startUpstreams>[0], 'feed'>,
) {
  const node = await registerNode(presenceDeps)
  const remotePresences = createRemotePresences()
  const common = { ...presenceDeps, node, remotePresences, presenceStore: createPresenceStore(presenceDeps) }
  const upstreamAudience = opening.use(
    createUpstreamAudience<VisibleChange>(common, (changes, audience) => sendChanges(common, changes, audience)),
  )
  const upstreamPresences = createUpstreamPresences(common)
  const feed = opening.use(await openPresenceFeed({ ...common, upstreamAudience }))
  const presence = opening.use(createPresenceReconciler({ ...common, feed }))
  const presenceWatch = createPresenceWatch({ ...common, upstreamPresences })
  return { node, feed, presence, presenceWatch, remotePresences, upstreamPresences }
}
