/** Rules of somebody who lets agents read and test, is asked about the rest, and denies two things. */
export const READING_RULES = `
prefix_rule(["git", ["status", "log", "diff", "show", "grep", "branch"]])
prefix_rule(["ls"])
prefix_rule(["cat"])
prefix_rule(["echo"])
prefix_rule(["npm", ["ls", "test"]])
prefix_rule(["sed", "-n"])
prefix_rule(["find"])
prefix_rule(["sort"])
prefix_rule(["rg"])
prefix_rule(["rm"], "prompt")
prefix_rule(["git", "push"], "prompt")
prefix_rule(["curl"], "prompt")
prefix_rule(["rm", "-rf"], "forbidden")
prefix_rule(["sudo"], "forbidden")
`
