import type { WorkItem } from "../../src/index.js";

export const workItem = (more: Partial<WorkItem> = {}): WorkItem => ({
  id: "list:7",
  source: "list",
  externalId: "7",
  title: "Fix the login",
  description: "",
  priority: "high",
  labels: [],
  metadata: {},
  url: undefined,
  createdAt: new Date("2026-03-01T00:00:00Z"),
  updatedAt: new Date("2026-03-01T00:00:00Z"),
  ...more,
});
