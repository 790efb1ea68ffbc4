// `npm run gatehouse -- <command>`, in the image `gatehouse <command>`: the operator's command line.
import { connectInstance } from './instance.ts'
import { runCommandLine } from './program.ts'

process.exitCode = await runCommandLine(process.argv.slice(2), {
  environment: process.env,
  terminal: {
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    isInteractive: process.stdin.isTTY && process.stderr.isTTY,
  },
  now: () => Date.now(),
  connect: connectInstance,
})
