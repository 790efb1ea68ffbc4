/** The npm scripts that launch.js runs: the program of each, and those of the system that it needs. */
export const scripts = {
  start: { file: 'deploy/embedded/main.ts', programs: [] },
  gatehouse: { file: 'deploy/cli/main.ts', programs: [] },
  example: { file: 'deploy/example/main.ts', programs: ['nats-server', 'python3'] },
  cluster: { file: 'deploy/cluster/main.ts', programs: ['nats-server', 'redis-server'] },
  bench: { file: 'bench/main.ts', programs: ['nats-server', 'redis-server', 'chromium-headless-shell', 'haproxy'] },
  'test:faults': { file: 'test/faults/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:revocation': { file: 'test/revocation/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:upgrade': { file: 'test/upgrade/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:containers': { file: 'test/containers/main.ts', programs: [] },
  screenshots: {
    file: 'test/browser/screenshots.ts',
    programs: ['nats-server', 'redis-server', 'chromium-headless-shell'],
  },
  probe: { file: 'tools/probe/main.ts', programs: [] },
  conformance: { file: 'test/conformance/main.ts', programs: [] },
  'test:simulation': { file: 'test/simulation/main.ts', programs: [] },
  'test:mesh': { file: 'test/mesh/main.ts', programs: [] },
  'test:soak': { file: 'test/soak/main.ts', programs: ['nats-server', 'redis-server'] },
  'test:fuzz': { file: 'test/fuzz/main.ts', programs: [] },
}
